#include "backends/core/status.h"
#include "proto/wire/ops/ops_wire.h"
#include "proto/wire/shape_wire.h"

namespace acceld {

void ToWire(const ops::Conv2dBackwardData& op, v1::Conv2dBackwardData& wire) {
  ToWire(op.shape, *wire.mutable_shape());
  wire.set_filter(op.filter);
  wire.set_output_gradient(op.output_gradient);
  wire.set_input_gradient(op.input_gradient);
}

absl::StatusOr<ops::Conv2dBackwardData> FromWire(const v1::Conv2dBackwardData& wire) {
  ACCELD_ASSIGN_OR_RETURN(const Conv2dShape shape,
                          FromWire(wire.shape(), ops::Conv2dBackwardData::kName));
  return ops::Conv2dBackwardData{.shape = shape,
                                 .filter = wire.filter(),
                                 .output_gradient = wire.output_gradient(),
                                 .input_gradient = wire.input_gradient()};
}

}  // namespace acceld
