#include "backends/cuda/ops/matrix_product.h"

#include "backends/cuda/kernels/kernel.h"

namespace acceld::cuda {
namespace {

template <typename T>
absl::Status Scale(const GemmCall& call, CudaContext& context) {
  return context.Launch(ScaleKernel<T>(call.m, call.n, static_cast<T>(call.beta),
                                       static_cast<T*>(call.c), call.ldc, call.stride_c,
                                       call.batch));
}

}  // namespace

absl::Status Multiply(const GemmCall& call, CudaContext& context) {
  if (call.m == 0 || call.n == 0 || call.batch == 0) return absl::OkStatus();
  if (call.k > 0 && call.alpha != 0) return context.Gemm(call);
  if (call.beta == 1) return absl::OkStatus();
  return call.type == GemmType::kF64 ? Scale<double>(call, context) : Scale<float>(call, context);
}

}  // namespace acceld::cuda
