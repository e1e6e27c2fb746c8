#include "proto/wire/ops/ops_wire.h"

namespace acceld {

void ToWire(const ops::Attention& op, v1::Attention& wire) {
  wire.set_batch(op.batch);
  wire.set_heads(op.heads);
  wire.set_seq_q(op.seq_q);
  wire.set_seq_kv(op.seq_kv);
  wire.set_head_dim(op.head_dim);
  wire.set_scale(op.scale);
  wire.set_causal(op.causal);
  wire.set_q(op.q);
  wire.set_k(op.k);
  wire.set_v(op.v);
  wire.set_output(op.output);
}

ops::Attention FromWire(const v1::Attention& wire) {
  return {.batch = wire.batch(),
          .heads = wire.heads(),
          .seq_q = wire.seq_q(),
          .seq_kv = wire.seq_kv(),
          .head_dim = wire.head_dim(),
          .scale = wire.scale(),
          .causal = wire.causal(),
          .q = wire.q(),
          .k = wire.k(),
          .v = wire.v(),
          .output = wire.output()};
}

}  // namespace acceld
