#include "proto/wire/enum_from_wire.h"
#include "proto/wire/ops/ops_wire.h"

namespace acceld {

void ToWire(const ops::Binary& op, v1::Binary& wire) {
  wire.set_op(static_cast<v1::BinaryOp>(op.op));
  wire.set_n(op.n);
  wire.set_a(op.a);
  wire.set_b(op.b);
  wire.set_output(op.output);
}

ops::Binary FromWire(const v1::Binary& wire) {
  return {.op = EnumFromWire<BinaryOp>(wire.op()),
          .n = wire.n(),
          .a = wire.a(),
          .b = wire.b(),
          .output = wire.output()};
}

}  // namespace acceld
