#include "backends/cuda/op_table.h"

namespace acceld::cuda {

// A batch of one.
absl::Status Run(const ops::Gemm& op, CudaContext& context) {
  return Run(
      ops::BatchedGemm{
          .type = op.type,
          .transpose_a = op.transpose_a,
          .transpose_b = op.transpose_b,
          .m = op.m,
          .n = op.n,
          .k = op.k,
          .alpha = op.alpha,
          .a = op.a,
          .lda = op.lda,
          .b = op.b,
          .ldb = op.ldb,
          .beta = op.beta,
          .c = op.c,
          .ldc = op.ldc,
          .batch = 1,
      },
      context);
}

}  // namespace acceld::cuda
