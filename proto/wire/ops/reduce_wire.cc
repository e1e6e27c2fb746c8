#include "proto/wire/enum_from_wire.h"
#include "proto/wire/ops/ops_wire.h"
#include "proto/wire/shape_wire.h"

namespace acceld {

void ToWire(const ops::Reduce& op, v1::Reduce& wire) {
  wire.set_op(static_cast<v1::ReduceOp>(op.op));
  ToWire(op.shape, *wire.mutable_shape());
  wire.set_axis(op.axis);
  wire.set_input(op.input);
  wire.set_output(op.output);
}

ops::Reduce FromWire(const v1::Reduce& wire) {
  return {.op = EnumFromWire<ReduceOp>(wire.op()),
          .shape = ShapeFromWire(wire.shape()),
          .axis = wire.axis(),
          .input = wire.input(),
          .output = wire.output()};
}

}  // namespace acceld
