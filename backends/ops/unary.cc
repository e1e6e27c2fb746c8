#include "backends/ops/unary.h"

#include "backends/core/status.h"
#include "backends/ops/check_enum.h"
#include "backends/ops/shape.h"

namespace acceld::ops {

absl::Status Unary::Check() const {
  ACCELD_RETURN_IF_ERROR(CheckEnum(op, kName, "op"));
  return CheckElementCount(n, sizeof(float), kName, "n");
}

OperandList Unary::Operands() {
  return {VectorOperand("input", input, Access::kRead, n, sizeof(float)),
          VectorOperand("output", output, Access::kWrite, n, sizeof(float))};
}

}  // namespace acceld::ops
