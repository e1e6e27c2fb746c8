#include "backends/core/status.h"
#include "proto/wire/ops/ops_wire.h"
#include "proto/wire/shape_wire.h"

namespace acceld {

void ToWire(const ops::Conv2dBackwardFilter& op, v1::Conv2dBackwardFilter& wire) {
  ToWire(op.shape, *wire.mutable_shape());
  wire.set_input(op.input);
  wire.set_output_gradient(op.output_gradient);
  wire.set_filter_gradient(op.filter_gradient);
}

absl::StatusOr<ops::Conv2dBackwardFilter> FromWire(const v1::Conv2dBackwardFilter& wire) {
  ACCELD_ASSIGN_OR_RETURN(const Conv2dShape shape,
                          FromWire(wire.shape(), ops::Conv2dBackwardFilter::kName));
  return ops::Conv2dBackwardFilter{.shape = shape,
                                   .input = wire.input(),
                                   .output_gradient = wire.output_gradient(),
                                   .filter_gradient = wire.filter_gradient()};
}

}  // namespace acceld
