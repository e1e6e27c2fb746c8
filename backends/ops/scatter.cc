#include "backends/ops/scatter.h"

#include "backends/ops/row_indices.h"

namespace acceld::ops {

absl::Status Scatter::Check() const { return CheckRowIndices(rows, columns, indices, kName); }

OperandList Scatter::Operands() {
  const auto source_rows = static_cast<std::int64_t>(indices.size());
  // Without indices nothing of the table is written, so it is not looked at.
  const std::int64_t table_rows = indices.empty() ? 0 : rows;
  return {VectorOperand("source", source, Access::kRead, source_rows * columns, sizeof(float)),
          VectorOperand("table", table, Access::kReadWrite, table_rows * columns, sizeof(float))};
}

double Scatter::Flops() const { return 0; }

}  // namespace acceld::ops
