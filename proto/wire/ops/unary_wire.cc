#include "proto/wire/enum_from_wire.h"
#include "proto/wire/ops/ops_wire.h"

namespace acceld {

void ToWire(const ops::Unary& op, v1::Unary& wire) {
  wire.set_op(static_cast<v1::UnaryOp>(op.op));
  wire.set_n(op.n);
  wire.set_input(op.input);
  wire.set_output(op.output);
}

ops::Unary FromWire(const v1::Unary& wire) {
  return {.op = EnumFromWire<UnaryOp>(wire.op()),
          .n = wire.n(),
          .input = wire.input(),
          .output = wire.output()};
}

}  // namespace acceld
