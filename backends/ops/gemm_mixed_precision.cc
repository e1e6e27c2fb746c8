#include "backends/ops/gemm_mixed_precision.h"

#include "backends/core/status.h"
#include "backends/ops/check_enum.h"
#include "backends/ops/gemm_checks.h"

namespace acceld::ops {
namespace {

GemmSizes SizesOf(const GemmMixedPrecision& op) {
  return {.transpose_a = op.transpose_a,
          .transpose_b = op.transpose_b,
          .m = op.m,
          .n = op.n,
          .k = op.k,
          .lda = op.lda,
          .ldb = op.ldb,
          .ldc = op.ldc,
          .element_bytes = sizeof(float)};
}

bool ReadsFactors(const GemmMixedPrecision& op) { return op.k != 0 && op.alpha != 0; }

}  // namespace

absl::Status GemmMixedPrecision::Check() const {
  ACCELD_RETURN_IF_ERROR(CheckEnum(precision, kName, "precision"));
  return CheckGemmSizes(SizesOf(*this), ReadsFactors(*this), kName);
}

OperandList GemmMixedPrecision::Operands() {
  return GemmOperands(SizesOf(*this), ReadsFactors(*this), beta == 0, a, b, c);
}

double GemmMixedPrecision::Flops() const { return GemmFlops(SizesOf(*this), ReadsFactors(*this)); }

}  // namespace acceld::ops
