#include "backends/core/status.h"
#include "proto/wire/ops/ops_wire.h"
#include "proto/wire/shape_wire.h"

namespace acceld {

void ToWire(const ops::Conv2dForward& op, v1::Conv2dForward& wire) {
  ToWire(op.shape, *wire.mutable_shape());
  wire.set_input(op.input);
  wire.set_filter(op.filter);
  wire.set_output(op.output);
}

absl::StatusOr<ops::Conv2dForward> FromWire(const v1::Conv2dForward& wire) {
  ACCELD_ASSIGN_OR_RETURN(const Conv2dShape shape,
                          FromWire(wire.shape(), ops::Conv2dForward::kName));
  return ops::Conv2dForward{
      .shape = shape, .input = wire.input(), .filter = wire.filter(), .output = wire.output()};
}

}  // namespace acceld
