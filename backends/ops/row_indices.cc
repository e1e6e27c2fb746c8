#include "backends/ops/row_indices.h"

#include "backends/core/status.h"
#include "backends/ops/shape.h"
#include "fmt/format.h"

namespace acceld {

absl::Status CheckRowIndices(std::int64_t rows, std::int64_t columns,
                             absl::Span<const std::int64_t> indices, std::string_view op_name) {
  ACCELD_RETURN_IF_ERROR(CheckDimension(rows, 0, op_name, "rows"));
  ACCELD_RETURN_IF_ERROR(CheckDimension(columns, 0, op_name, "columns"));
  ACCELD_RETURN_IF_ERROR(CheckArrayBytes({rows, columns}, sizeof(float), op_name, "table"));
  const auto count = static_cast<std::int64_t>(indices.size());
  ACCELD_RETURN_IF_ERROR(CheckArrayBytes({count, columns}, sizeof(float), op_name, "indices"));
  // Without a branch for each: there may be as many as elements in the rows.
  bool all = true;
  for (const std::int64_t index : indices) all &= (index >= 0) & (index < rows);
  for (std::size_t i = 0; !all && i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= rows) {
      return InvalidArgument(fmt::format(
          "Argument indices[{}] of {} is {}; it must be at least 0 and below {}, the rows of its "
          "table.",
          i, op_name, indices[i], rows));
    }
  }
  return absl::OkStatus();
}

}  // namespace acceld
