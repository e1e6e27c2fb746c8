#include <cstdint>

#include "backends/core/status.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/ops/matrix_product.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Products of fewer operations go to one thread each; the threads share out larger ones.
constexpr double kThreadedProductFlops = 2.0 * 512 * 512 * 512;

// The operand of the `i`-th product. Counted in addresses, since one that is not read may be 0.
template <typename T>
T* PointerAt(Address first, std::int64_t i, std::int64_t stride) {
  return Pointer<T>(first + static_cast<Address>(i * stride) * sizeof(T));
}

template <typename T>
MatrixProduct<T> ProductAt(const ops::BatchedGemm& op, std::int64_t i) {
  return {
      .transpose_a = op.transpose_a,
      .transpose_b = op.transpose_b,
      .m = op.m,
      .n = op.n,
      .k = op.k,
      .alpha = static_cast<T>(op.alpha),
      .a = PointerAt<const T>(op.a, i, op.stride_a),
      .lda = op.lda,
      .b = PointerAt<const T>(op.b, i, op.stride_b),
      .ldb = op.ldb,
      .beta = static_cast<T>(op.beta),
      .c = PointerAt<T>(op.c, i, op.stride_c),
      .ldc = op.ldc,
  };
}

template <typename T>
absl::Status RunTyped(const ops::BatchedGemm& op, int threads) {
  const double product_flops =
      2.0 * static_cast<double>(op.m) * static_cast<double>(op.n) * static_cast<double>(op.k);
  const ProductStrides strides{.a = op.stride_a, .b = op.stride_b, .c = op.stride_c};
  if (op.batch < threads || product_flops >= kThreadedProductFlops) {
    for (std::int64_t i = 0; i < op.batch; ++i) {
      ACCELD_RETURN_IF_ERROR(Multiply(ProductAt<T>(op, i), threads));
    }
    return absl::OkStatus();
  }
  return TryParallelFor(threads, op.batch, /*grain=*/1, [&](std::int64_t begin, std::int64_t end) {
    const ScopedOpenMpThreads one_thread(1);
    return MultiplyEach(ProductAt<T>(op, begin), strides, end - begin);
  });
}

}  // namespace

absl::Status Run(const ops::BatchedGemm& op, CpuContext& context) {
  if (op.type == DataType::kF64) {
    return RunTyped<double>(op, context.threads());
  }
  return RunTyped<float>(op, context.threads());
}

}  // namespace acceld::cpu
