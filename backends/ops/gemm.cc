#include "backends/ops/gemm.h"

#include "backends/core/status.h"
#include "backends/ops/check_enum.h"
#include "backends/ops/gemm_checks.h"

namespace acceld::ops {
namespace {

GemmSizes SizesOf(const Gemm& op) {
  return {.transpose_a = op.transpose_a,
          .transpose_b = op.transpose_b,
          .m = op.m,
          .n = op.n,
          .k = op.k,
          .lda = op.lda,
          .ldb = op.ldb,
          .ldc = op.ldc,
          .element_bytes = SizeOf(op.type)};
}

bool ReadsFactors(const Gemm& op) { return op.k != 0 && op.alpha != 0; }

}  // namespace

absl::Status Gemm::Check() const {
  ACCELD_RETURN_IF_ERROR(CheckEnum(type, kName, "type"));
  return CheckGemmSizes(SizesOf(*this), ReadsFactors(*this), kName);
}

OperandList Gemm::Operands() {
  return GemmOperands(SizesOf(*this), ReadsFactors(*this), beta == 0, a, b, c);
}

double Gemm::Flops() const { return GemmFlops(SizesOf(*this), ReadsFactors(*this)); }

}  // namespace acceld::ops
