#include <cstdint>

#include "backends/reference/reference.h"

namespace acceld::reference {

void Run(const ops::BatchedGemm& op) {
  const std::int64_t element_bytes = static_cast<std::int64_t>(SizeOf(op.type));
  for (std::int64_t i = 0; i < op.batch; ++i) {
    Run(ops::Gemm{
        .type = op.type,
        .transpose_a = op.transpose_a,
        .transpose_b = op.transpose_b,
        .m = op.m,
        .n = op.n,
        .k = op.k,
        .alpha = op.alpha,
        .a = op.a + static_cast<Address>(i * op.stride_a * element_bytes),
        .lda = op.lda,
        .b = op.b + static_cast<Address>(i * op.stride_b * element_bytes),
        .ldb = op.ldb,
        .beta = op.beta,
        .c = op.c + static_cast<Address>(i * op.stride_c * element_bytes),
        .ldc = op.ldc,
    });
  }
}

}  // namespace acceld::reference
