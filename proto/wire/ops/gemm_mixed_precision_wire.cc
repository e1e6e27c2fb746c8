#include "proto/wire/enum_from_wire.h"
#include "proto/wire/ops/ops_wire.h"

namespace acceld {

void ToWire(const ops::GemmMixedPrecision& op, v1::GemmMixedPrecision& wire) {
  wire.set_precision(static_cast<v1::MixedPrecision>(op.precision));
  wire.set_transpose_a(static_cast<v1::Transpose>(op.transpose_a));
  wire.set_transpose_b(static_cast<v1::Transpose>(op.transpose_b));
  wire.set_m(op.m);
  wire.set_n(op.n);
  wire.set_k(op.k);
  wire.set_alpha(op.alpha);
  wire.set_a(op.a);
  wire.set_lda(op.lda);
  wire.set_b(op.b);
  wire.set_ldb(op.ldb);
  wire.set_beta(op.beta);
  wire.set_c(op.c);
  wire.set_ldc(op.ldc);
}

ops::GemmMixedPrecision FromWire(const v1::GemmMixedPrecision& wire) {
  return {.precision = EnumFromWire<MixedPrecision>(wire.precision()),
          .transpose_a = EnumFromWire<Transpose>(wire.transpose_a()),
          .transpose_b = EnumFromWire<Transpose>(wire.transpose_b()),
          .m = wire.m(),
          .n = wire.n(),
          .k = wire.k(),
          .alpha = wire.alpha(),
          .a = wire.a(),
          .lda = wire.lda(),
          .b = wire.b(),
          .ldb = wire.ldb(),
          .beta = wire.beta(),
          .c = wire.c(),
          .ldc = wire.ldc()};
}

}  // namespace acceld
