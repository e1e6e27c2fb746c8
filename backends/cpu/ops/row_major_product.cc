#include "backends/cpu/ops/row_major_product.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/ops/matrix_product.h"
#include "backends/cpu/ops/onednn_product.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/work_size.h"

namespace acceld::cpu {

absl::Status Multiply(const RowMajorProduct& p) {
  // Column-major, the matrices are transposed: C^T = op(B)^T op(A)^T.
  const MatrixProduct<float> product{.transpose_a = p.transpose_b,
                                     .transpose_b = p.transpose_a,
                                     .m = p.n,
                                     .n = p.m,
                                     .k = p.k,
                                     .alpha = 1,
                                     .a = p.b,
                                     .lda = p.ldb,
                                     .b = p.a,
                                     .ldb = p.lda,
                                     .beta = p.beta,
                                     .c = p.c,
                                     .ldc = p.ldc};
  const double flops =
      2 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  // The other libraries count in 32 bits.
  const bool wide = std::max({p.lda, p.ldb, p.ldc}) > std::numeric_limits<int>::max();
  if (wide || flops > kSmallFlops) return MultiplyByOneDnn(product);
  const ScopedOpenMpThreads one_thread(1);
  return Multiply(product, /*threads=*/1);
}

}  // namespace acceld::cpu
