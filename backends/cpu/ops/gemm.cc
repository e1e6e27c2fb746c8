#include "backends/cpu/kernels.h"
#include "backends/cpu/ops/matrix_product.h"
#include "backends/cpu/ops/pointers.h"

namespace acceld::cpu {
namespace {

// alpha and beta are rounded to the operands' type, as BLAS takes them.
template <typename T>
MatrixProduct<T> ToProduct(const ops::Gemm& op) {
  return {
      .transpose_a = op.transpose_a,
      .transpose_b = op.transpose_b,
      .m = op.m,
      .n = op.n,
      .k = op.k,
      .alpha = static_cast<T>(op.alpha),
      .a = Pointer<const T>(op.a),
      .lda = op.lda,
      .b = Pointer<const T>(op.b),
      .ldb = op.ldb,
      .beta = static_cast<T>(op.beta),
      .c = Pointer<T>(op.c),
      .ldc = op.ldc,
  };
}

}  // namespace

absl::Status Run(const ops::Gemm& op, CpuContext& context) {
  if (op.type == DataType::kF64) {
    return Multiply(ToProduct<double>(op), context.threads());
  }
  return Multiply(ToProduct<float>(op), context.threads());
}

}  // namespace acceld::cpu
