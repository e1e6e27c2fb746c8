// Lists of sizes between structs and acceld.v1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "acceld/v1/ops/conv2d_shape.pb.h"
#include "backends/ops/conv2d_shape.h"
#include "backends/ops/shape.h"

namespace acceld {

using WireSizes = google::protobuf::RepeatedField<std::int64_t>;

// A shape of too high a rank stays one, though of a lower rank: its further dimensions are not
// known.
void ToWire(const Shape& shape, WireSizes& wire);

// Any shape; CheckShape says whether it is valid.
Shape ShapeFromWire(const WireSizes& wire);

void ToWire(const Conv2dShape& shape, v1::Conv2dShape& wire);

// Any sizes; Conv2dShape::Check says whether they are valid. A list of the wrong length is an
// invalid argument, whose error names `op_name`.
absl::StatusOr<Conv2dShape> FromWire(const v1::Conv2dShape& wire, std::string_view op_name);

}  // namespace acceld
