// Products of matrices by cuBLAS, in full precision and with the same bits every time.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "backends/core/mutex.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/real/cublas_functions.h"
#include "backends/cuda/real/stream_use.h"

namespace acceld::cuda {

// cuBLAS for one card, which is the current device in every call and in the destructor. Opened by
// the first product. Thread-safe.
class Cublas {
 public:
  // With cuBLAS's functions, or, for null, those that are found when they are first needed.
  explicit Cublas(std::unique_ptr<const CublasFunctions> functions = nullptr)
      : functions_(std::move(functions)) {}
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  // What NVIDIA recommends for cards of this compute capability.
  static constexpr std::uint64_t WorkspaceBytes(int compute_capability_major) {
    return (compute_capability_major >= 9 ? 32 : 8) * std::uint64_t{1024 * 1024};
  }

  // As Driver::Gemm, with a workspace of `workspace_bytes`, in a stream that captures or runs.
  DriverStatus Gemm(cudaStream_t stream, StreamUse use, const GemmCall& call,
                    std::uint64_t workspace_bytes);
  // Comes before a capture: where cuBLAS was used, makes what captures need, which takes memory.
  DriverStatus PrepareCapture();

 private:
  DriverStatus Open(cublasHandle_t& handle) ACCELD_REQUIRES(mutex_);

  // Stream and workspace are set for a call.
  Mutex mutex_;
  std::unique_ptr<const CublasFunctions> functions_ ACCELD_GUARDED_BY(mutex_);
  HandlePerUse<cublasHandle_t> handles_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld::cuda
