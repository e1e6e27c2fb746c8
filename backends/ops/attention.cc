#include "backends/ops/attention.h"

#include <cmath>

#include "backends/core/status.h"
#include "backends/ops/shape.h"
#include "fmt/format.h"

namespace acceld::ops {

absl::Status Attention::Check() const {
  ACCELD_RETURN_IF_ERROR(CheckDimension(batch, 1, kName, "batch"));
  ACCELD_RETURN_IF_ERROR(CheckDimension(heads, 1, kName, "heads"));
  ACCELD_RETURN_IF_ERROR(CheckDimension(seq_q, 1, kName, "seq_q"));
  ACCELD_RETURN_IF_ERROR(CheckDimension(seq_kv, 1, kName, "seq_kv"));
  ACCELD_RETURN_IF_ERROR(CheckDimension(head_dim, 1, kName, "head_dim"));
  if (!std::isfinite(scale) || scale <= 0) {
    return InvalidArgument(
        fmt::format("Argument scale of {} is {}; it must be positive and finite.", kName, scale));
  }
  ACCELD_RETURN_IF_ERROR(
      CheckArrayBytes({batch, heads, seq_q, head_dim}, sizeof(float), kName, "q"));
  return CheckArrayBytes({batch, heads, seq_kv, head_dim}, sizeof(float), kName, "k");
}

OperandList Attention::Operands() {
  const std::int64_t q_count = batch * heads * seq_q * head_dim;
  const std::int64_t kv_count = batch * heads * seq_kv * head_dim;
  return {VectorOperand("q", q, Access::kRead, q_count, sizeof(float)),
          VectorOperand("k", k, Access::kRead, kv_count, sizeof(float)),
          VectorOperand("v", v, Access::kRead, kv_count, sizeof(float)),
          VectorOperand("output", output, Access::kWrite, q_count, sizeof(float))};
}

double Attention::Flops() const {
  const double scores =
      static_cast<double>(batch * heads) * static_cast<double>(seq_q) * static_cast<double>(seq_kv);
  // Two products, and the scaling, maximum, exponential, sum and division of the softmax.
  return scores * (4 * static_cast<double>(head_dim) + 5);
}

}  // namespace acceld::ops
