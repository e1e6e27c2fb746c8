#include <cuda_runtime_api.h>

#include <utility>
#include <vector>

#include "backends/core/status.h"
#include "backends/cuda/driver_status.h"
#include "backends/cuda/real/cublas_functions.h"
#include "backends/cuda/real/cuda_errors.h"
#include "backends/cuda/real/cudnn_functions.h"
#include "backends/cuda/real/launch.h"
#include "tests/bench/cuda/direct.h"
#include "tests/bench/cuda/direct_convolution.h"

namespace acceld::bench {
namespace {

const DeviceInfo kCard{.kind = BackendKind::kCuda};

absl::Status ToStatus(const cuda::DriverStatus& status) { return cuda::ToStatus(status, kCard); }

absl::Status ToStatus(const char* call, cudaError_t error) {
  return ToStatus(cuda::ToDriverStatus(call, error));
}

class DirectOnCard final : public Direct {
 public:
  ~DirectOnCard() override {
    (void)cudaDeviceSynchronize();
    convolutions_.clear();
    if (cudnn_handle_ != nullptr) (void)cudnn_.destroy(cudnn_handle_);
    if (cublas_handle_ != nullptr) (void)cublas_.destroy(cublas_handle_);
    for (void* const data : device_memory_) (void)cudaFree(data);
    for (void* const data : host_memory_) (void)cudaFreeHost(data);
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  absl::Status Init() {
    ACCELD_RETURN_IF_ERROR(ToStatus("cudaSetDevice", cudaSetDevice(0)));
    return ToStatus("cudaStreamCreateWithFlags",
                    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }

  absl::StatusOr<std::byte*> Allocate(std::uint64_t bytes) override {
    void* data = nullptr;
    ACCELD_RETURN_IF_ERROR(ToStatus("cudaMalloc", cudaMalloc(&data, bytes)));
    device_memory_.push_back(data);
    return static_cast<std::byte*>(data);
  }

  absl::StatusOr<std::byte*> AllocatePinned(std::uint64_t bytes) override {
    void* data = nullptr;
    ACCELD_RETURN_IF_ERROR(ToStatus("cudaMallocHost", cudaMallocHost(&data, bytes)));
    host_memory_.push_back(data);
    return static_cast<std::byte*>(data);
  }

  absl::Status CopyToDevice(std::byte* target, const std::byte* source,
                            std::uint64_t bytes) override {
    return Copy(target, source, bytes, cudaMemcpyHostToDevice);
  }
  absl::Status CopyToHost(std::byte* target, const std::byte* source,
                          std::uint64_t bytes) override {
    return Copy(target, source, bytes, cudaMemcpyDeviceToHost);
  }
  absl::Status CopyOnDevice(std::byte* target, const std::byte* source,
                            std::uint64_t bytes) override {
    return Copy(target, source, bytes, cudaMemcpyDeviceToDevice);
  }

  absl::Status Launch(const cuda::Kernel& kernel) override {
    return ToStatus("cudaLaunchKernel", cuda::LaunchKernel(kernel, stream_));
  }

  absl::Status Gemm(const cuda::GemmCall& call) override {
    if (cublas_handle_ == nullptr) ACCELD_RETURN_IF_ERROR(OpenCublas());
    const bool f64 = call.type == cuda::GemmType::kF64;
    const float alpha = static_cast<float>(call.alpha);
    const float beta = static_cast<float>(call.beta);
    const cudaDataType product = f64 ? CUDA_R_64F : CUDA_R_32F;
    cudaDataType factors = product;
    if (call.type == cuda::GemmType::kF16) factors = CUDA_R_16F;
    if (call.type == cuda::GemmType::kBf16) factors = CUDA_R_16BF;
    const cublasComputeType_t compute = f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
    const void* const alpha_pointer = f64 ? static_cast<const void*>(&call.alpha) : &alpha;
    const void* const beta_pointer = f64 ? static_cast<const void*>(&call.beta) : &beta;
    const cublasOperation_t a = call.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t b = call.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    if (call.batch == 1) {
      return ToStatus(cublas_.ToStatus(
          "cublasGemmEx",
          cublas_.gemm(cublas_handle_, a, b, call.m, call.n, call.k, alpha_pointer, call.a, factors,
                       call.lda, call.b, factors, call.ldb, beta_pointer, call.c, product, call.ldc,
                       compute, CUBLAS_GEMM_DEFAULT)));
    }
    return ToStatus(cublas_.ToStatus(
        "cublasGemmStridedBatchedEx",
        cublas_.batched_gemm(cublas_handle_, a, b, call.m, call.n, call.k, alpha_pointer, call.a,
                             factors, call.lda, call.stride_a, call.b, factors, call.ldb,
                             call.stride_b, beta_pointer, call.c, product, call.ldc, call.stride_c,
                             call.batch, compute, CUBLAS_GEMM_DEFAULT)));
  }

  absl::StatusOr<std::function<absl::Status()>> MakeConvolution(
      const cuda::ConvolutionKey& key, Algorithms algorithms,
      const cuda::ConvolutionCall& call) override {
    if (cudnn_handle_ == nullptr) ACCELD_RETURN_IF_ERROR(OpenCudnn());
    auto& convolution = convolutions_.emplace_back(std::make_unique<DirectConvolution>(
        cudnn_, cudnn_handle_, key, algorithms == Algorithms::kAny));
    ACCELD_RETURN_IF_ERROR(ToStatus(convolution->Init()));
    cuda::ConvolutionCall with_workspace = call;
    if (convolution->workspace_bytes() > 0) {
      ACCELD_ASSIGN_OR_RETURN(with_workspace.workspace, Allocate(convolution->workspace_bytes()));
    }
    return [&convolution = *convolution, with_workspace] {
      return ToStatus(convolution.Run(with_workspace));
    };
  }

  absl::Status Synchronize() override {
    return ToStatus("cudaStreamSynchronize", cudaStreamSynchronize(stream_));
  }

 private:
  absl::Status Copy(std::byte* target, const std::byte* source, std::uint64_t bytes,
                    cudaMemcpyKind kind) {
    return ToStatus("cudaMemcpyAsync", cudaMemcpyAsync(target, source, bytes, kind, stream_));
  }

  absl::Status OpenCublas() {
    ACCELD_RETURN_IF_ERROR(ToStatus(cublas_.Open()));
    ACCELD_RETURN_IF_ERROR(
        ToStatus(cublas_.ToStatus("cublasCreate", cublas_.create(&cublas_handle_))));
    return ToStatus(
        cublas_.ToStatus("cublasSetStream", cublas_.set_stream(cublas_handle_, stream_)));
  }

  absl::Status OpenCudnn() {
    ACCELD_RETURN_IF_ERROR(ToStatus(cudnn_.Open()));
    ACCELD_RETURN_IF_ERROR(ToStatus(cudnn_.ToStatus("cudnnCreate", cudnn_.create(&cudnn_handle_))));
    return ToStatus(cudnn_.ToStatus("cudnnSetStream", cudnn_.set_stream(cudnn_handle_, stream_)));
  }

  cudaStream_t stream_ = nullptr;
  std::vector<void*> device_memory_;
  std::vector<void*> host_memory_;
  cuda::CublasFunctions cublas_{};
  cublasHandle_t cublas_handle_ = nullptr;
  cuda::CudnnFunctions cudnn_{};
  cudnnHandle_t cudnn_handle_ = nullptr;
  std::vector<std::unique_ptr<DirectConvolution>> convolutions_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Direct>> OpenDirect() {
  auto direct = std::make_unique<DirectOnCard>();
  ACCELD_RETURN_IF_ERROR(direct->Init());
  return direct;
}

}  // namespace acceld::bench
