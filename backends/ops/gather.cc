#include "backends/ops/gather.h"

#include "backends/ops/row_indices.h"

namespace acceld::ops {

absl::Status Gather::Check() const { return CheckRowIndices(rows, columns, indices, kName); }

OperandList Gather::Operands() {
  const auto output_rows = static_cast<std::int64_t>(indices.size());
  return {VectorOperand("table", table, Access::kRead, rows * columns, sizeof(float)),
          VectorOperand("output", output, Access::kWrite, output_rows * columns, sizeof(float))};
}

double Gather::Flops() const { return 0; }

}  // namespace acceld::ops
