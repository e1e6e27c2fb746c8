#include "backends/cuda/real/cublas.h"

#include <utility>

namespace acceld::cuda {
namespace {

// How a GemmCall's element type is said to cuBLAS.
struct Types {
  cudaDataType factors;
  cudaDataType product;
  cublasComputeType_t compute;
};

Types TypesOf(GemmType type) {
  switch (type) {
    case GemmType::kF64:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case GemmType::kF16:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case GemmType::kBf16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case GemmType::kF32:
      break;
  }
  return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
}

cublasOperation_t OperationFor(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }

cublasStatus_t Call(const CublasFunctions& functions, cublasHandle_t handle, const GemmCall& call) {
  const Types types = TypesOf(call.type);
  // alpha and beta are of the type that is computed in.
  const float alpha = static_cast<float>(call.alpha);
  const float beta = static_cast<float>(call.beta);
  const bool f64 = call.type == GemmType::kF64;
  const void* const alpha_pointer = f64 ? static_cast<const void*>(&call.alpha) : &alpha;
  const void* const beta_pointer = f64 ? static_cast<const void*>(&call.beta) : &beta;
  const cublasOperation_t a = OperationFor(call.transpose_a);
  const cublasOperation_t b = OperationFor(call.transpose_b);
  if (call.batch == 1) {
    return functions.gemm(handle, a, b, call.m, call.n, call.k, alpha_pointer, call.a,
                          types.factors, call.lda, call.b, types.factors, call.ldb, beta_pointer,
                          call.c, types.product, call.ldc, types.compute, CUBLAS_GEMM_DEFAULT);
  }
  return functions.batched_gemm(
      handle, a, b, call.m, call.n, call.k, alpha_pointer, call.a, types.factors, call.lda,
      call.stride_a, call.b, types.factors, call.ldb, call.stride_b, beta_pointer, call.c,
      types.product, call.ldc, call.stride_c, call.batch, types.compute, CUBLAS_GEMM_DEFAULT);
}

}  // namespace

Cublas::~Cublas() {
  MutexLock lock(mutex_);
  for (const cublasHandle_t handle : {handles_.run, handles_.capture}) {
    if (handle != nullptr) (void)functions_->destroy(handle);
  }
}

DriverStatus Cublas::PrepareCapture() {
  MutexLock lock(mutex_);
  return handles_.run == nullptr ? DriverStatus{} : Open(handles_.capture);
}

DriverStatus Cublas::Gemm(cudaStream_t stream, StreamUse use, const GemmCall& call,
                          std::uint64_t workspace_bytes) {
  MutexLock lock(mutex_);
  cublasHandle_t& handle = handles_.For(use);
  if (DriverStatus opened = Open(handle); !opened.ok()) return opened;
  cublasStatus_t status = functions_->set_stream(handle, stream);
  if (status != CUBLAS_STATUS_SUCCESS) return functions_->ToStatus("cublasSetStream", status);
  // A new stream takes cuBLAS's own workspace; with several streams the bits would depend on it.
  status = functions_->set_workspace(handle, call.workspace, workspace_bytes);
  if (status != CUBLAS_STATUS_SUCCESS) return functions_->ToStatus("cublasSetWorkspace", status);
  return functions_->ToStatus(call.batch == 1 ? "cublasGemmEx" : "cublasGemmStridedBatchedEx",
                              Call(*functions_, handle, call));
}

DriverStatus Cublas::Open(cublasHandle_t& handle) {
  if (handle != nullptr) return {};
  if (functions_ == nullptr) {
    auto functions = std::make_unique<CublasFunctions>();
    DriverStatus opened = functions->Open();
    if (!opened.ok()) return opened;
    functions_ = std::move(functions);
  }
  cublasHandle_t created = nullptr;
  cublasStatus_t status = functions_->create(&created);
  if (status != CUBLAS_STATUS_SUCCESS) return functions_->ToStatus("cublasCreate", status);
  // Neither TF32 nor sums in 16 bits.
  status = functions_->set_math_mode(
      created, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                         CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
  if (status != CUBLAS_STATUS_SUCCESS) {
    (void)functions_->destroy(created);
    return functions_->ToStatus("cublasSetMathMode", status);
  }
  handle = created;
  return {};
}

}  // namespace acceld::cuda
