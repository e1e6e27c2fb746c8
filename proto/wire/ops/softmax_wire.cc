#include "proto/wire/ops/ops_wire.h"
#include "proto/wire/shape_wire.h"

namespace acceld {

void ToWire(const ops::Softmax& op, v1::Softmax& wire) {
  ToWire(op.shape, *wire.mutable_shape());
  wire.set_axis(op.axis);
  wire.set_input(op.input);
  wire.set_output(op.output);
}

ops::Softmax FromWire(const v1::Softmax& wire) {
  return {.shape = ShapeFromWire(wire.shape()),
          .axis = wire.axis(),
          .input = wire.input(),
          .output = wire.output()};
}

}  // namespace acceld
