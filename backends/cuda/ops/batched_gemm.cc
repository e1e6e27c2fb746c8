#include "backends/cuda/op_table.h"
#include "backends/cuda/ops/matrix_product.h"
#include "backends/cuda/ops/pointers.h"

namespace acceld::cuda {
namespace {

// alpha and beta are rounded to the operands' type, as BLAS takes them.
double Rounded(DataType type, double factor) {
  return type == DataType::kF64 ? factor : static_cast<double>(static_cast<float>(factor));
}

}  // namespace

absl::Status Run(const ops::BatchedGemm& op, CudaContext& context) {
  return Multiply(
      {
          .type = op.type == DataType::kF64 ? GemmType::kF64 : GemmType::kF32,
          .transpose_a = IsTransposed(op.transpose_a),
          .transpose_b = IsTransposed(op.transpose_b),
          .m = op.m,
          .n = op.n,
          .k = op.k,
          .alpha = Rounded(op.type, op.alpha),
          .a = Pointer<const void>(op.a),
          .lda = op.lda,
          .stride_a = op.stride_a,
          .b = Pointer<const void>(op.b),
          .ldb = op.ldb,
          .stride_b = op.stride_b,
          .beta = Rounded(op.type, op.beta),
          .c = Pointer<void>(op.c),
          .ldc = op.ldc,
          .stride_c = op.stride_c,
          .batch = op.batch,
      },
      context);
}

}  // namespace acceld::cuda
