#include "backends/ops/row_indices.h"

#include "backends/core/status.h"
#include "backends/ops/shape.h"
#include "fmt/format.h"

namespace acceld {
namespace {

// Whether each index is in [0, rows). There may be as many as elements in the rows, so they are
// checked without a branch, and in blocks of known length, which the compiler vectorizes.
bool AreBelow(std::int64_t rows, absl::Span<const std::int64_t> indices) {
  constexpr std::size_t kBlock = 64;
  const auto last = static_cast<std::uint64_t>(rows) - 1;
  // Negative where the index is, or beyond the last.
  const auto either = [last](std::int64_t index) {
    const auto value = static_cast<std::uint64_t>(index);
    return value | (last - value);
  };
  std::uint64_t signs = 0;
  const std::size_t blocks_end = indices.size() / kBlock * kBlock;
  for (std::size_t begin = 0; begin < blocks_end; begin += kBlock) {
    const std::int64_t* const block = indices.data() + begin;
    for (std::size_t i = 0; i < kBlock; ++i) signs |= either(block[i]);
  }
  for (const std::int64_t index : indices.subspan(blocks_end)) signs |= either(index);
  return signs >> 63 == 0;
}

}  // namespace

absl::Status CheckRowIndices(std::int64_t rows, std::int64_t columns,
                             absl::Span<const std::int64_t> indices, std::string_view op_name) {
  ACCELD_RETURN_IF_ERROR(CheckDimension(rows, 0, op_name, "rows"));
  ACCELD_RETURN_IF_ERROR(CheckDimension(columns, 0, op_name, "columns"));
  ACCELD_RETURN_IF_ERROR(CheckArrayBytes({rows, columns}, sizeof(float), op_name, "table"));
  const auto count = static_cast<std::int64_t>(indices.size());
  ACCELD_RETURN_IF_ERROR(CheckArrayBytes({count, columns}, sizeof(float), op_name, "indices"));
  if (AreBelow(rows, indices)) return absl::OkStatus();
  for (std::size_t i = 0; i < indices.size(); ++i) {
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
