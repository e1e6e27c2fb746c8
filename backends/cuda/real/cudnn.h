// Convolutions by cuDNN.
#pragma once

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <memory>

#include "backends/core/mutex.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/real/cudnn_functions.h"

namespace acceld::cuda {

// cuDNN for one card, which is the current device in every call and in the destructor. Opened by
// the first plan. Thread-safe. Plans are destroyed before it.
class Cudnn {
 public:
  Cudnn() = default;
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  // As Driver's.
  DriverResult<ConvolutionPlan> PlanConvolution(const ConvolutionKey& key);
  void DestroyConvolution(ConvolutionHandle plan);
  DriverStatus RunConvolution(cudaStream_t stream, ConvolutionHandle plan,
                              const ConvolutionCall& call);

 private:
  DriverStatus Open() ACCELD_REQUIRES(mutex_);

  // The stream is set for a call, in the one handle.
  Mutex mutex_;
  std::unique_ptr<const CudnnFunctions> functions_ ACCELD_GUARDED_BY(mutex_);
  cudnnHandle_t handle_ ACCELD_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace acceld::cuda
