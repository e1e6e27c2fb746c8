#include "proto/wire/shape_wire.h"

#include <algorithm>

#include "absl/types/span.h"
#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {
namespace {

template <std::size_t kCount>
absl::Status CopySizes(const WireSizes& wire, std::string_view op_name, std::string_view argument,
                       std::array<std::int64_t, kCount>& sizes) {
  if (wire.size() != static_cast<int>(kCount)) {
    return InvalidArgument(fmt::format("Argument {} of {} has {} elements; it must have {}.",
                                       argument, op_name, wire.size(), kCount));
  }
  std::copy(wire.begin(), wire.end(), sizes.begin());
  return absl::OkStatus();
}

}  // namespace

void ToWire(const Shape& shape, WireSizes& wire) {
  const absl::Span<const std::int64_t> dims = shape.dims();
  wire.Assign(dims.begin(), dims.end());
  if (shape.rank() > kMaxRank) wire.Resize(kMaxRank + 1, 0);
}

Shape ShapeFromWire(const WireSizes& wire) {
  return Shape(absl::MakeConstSpan(wire.data(), static_cast<std::size_t>(wire.size())));
}

void ToWire(const Conv2dShape& shape, v1::Conv2dShape& wire) {
  wire.mutable_input()->Assign(shape.input.begin(), shape.input.end());
  wire.mutable_filter()->Assign(shape.filter.begin(), shape.filter.end());
  wire.mutable_output()->Assign(shape.output.begin(), shape.output.end());
  wire.mutable_stride()->Assign(shape.stride.begin(), shape.stride.end());
  wire.mutable_padding()->Assign(shape.padding.begin(), shape.padding.end());
}

absl::StatusOr<Conv2dShape> FromWire(const v1::Conv2dShape& wire, std::string_view op_name) {
  Conv2dShape shape;
  ACCELD_RETURN_IF_ERROR(CopySizes(wire.input(), op_name, "shape.input", shape.input));
  ACCELD_RETURN_IF_ERROR(CopySizes(wire.filter(), op_name, "shape.filter", shape.filter));
  ACCELD_RETURN_IF_ERROR(CopySizes(wire.output(), op_name, "shape.output", shape.output));
  ACCELD_RETURN_IF_ERROR(CopySizes(wire.stride(), op_name, "shape.stride", shape.stride));
  ACCELD_RETURN_IF_ERROR(CopySizes(wire.padding(), op_name, "shape.padding", shape.padding));
  return shape;
}

}  // namespace acceld
