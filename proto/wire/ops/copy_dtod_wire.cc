#include "proto/wire/ops/ops_wire.h"

namespace acceld {

void ToWire(const ops::CopyDtoD& op, v1::CopyDtoD& wire) {
  wire.set_target(op.target);
  wire.set_source(op.source);
  wire.set_size_bytes(op.bytes);
}

ops::CopyDtoD FromWire(const v1::CopyDtoD& wire) {
  return {.target = wire.target(), .source = wire.source(), .bytes = wire.size_bytes()};
}

}  // namespace acceld
