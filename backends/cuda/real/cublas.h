// Products of matrices by cuBLAS, in full precision and with the same bits every time.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "backends/core/mutex.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/real/cublas_functions.h"

namespace acceld::cuda {

// cuBLAS for one card, which is the current device in every call and in the destructor. Opened by
// the first product. Thread-safe.
class Cublas {
 public:
  Cublas() = default;
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  // What NVIDIA recommends for cards of this compute capability.
  static constexpr std::uint64_t WorkspaceBytes(int compute_capability_major) {
    return (compute_capability_major >= 9 ? 32 : 8) * std::uint64_t{1024 * 1024};
  }

  // As Driver::Gemm, with a workspace of `workspace_bytes`.
  DriverStatus Gemm(cudaStream_t stream, const GemmCall& call, std::uint64_t workspace_bytes);

 private:
  DriverStatus Open() ACCELD_REQUIRES(mutex_);

  // Stream and workspace are set for a call, in the one handle.
  Mutex mutex_;
  std::unique_ptr<const CublasFunctions> functions_ ACCELD_GUARDED_BY(mutex_);
  cublasHandle_t handle_ ACCELD_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace acceld::cuda
