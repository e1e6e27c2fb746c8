// Convolutions by cuDNN.
#pragma once

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <memory>
#include <utility>

#include "backends/core/mutex.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/real/cudnn_functions.h"
#include "backends/cuda/real/stream_use.h"

namespace acceld::cuda {

// cuDNN for one card, which is the current device in every call and in the destructor. Opened by
// the first plan. Thread-safe. Plans are destroyed before it.
class Cudnn {
 public:
  // With cuDNN's functions, or, for null, those that are found when they are first needed.
  explicit Cudnn(std::unique_ptr<const CudnnFunctions> functions = nullptr)
      : functions_(std::move(functions)) {}
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  // As Driver's.
  DriverResult<ConvolutionPlan> PlanConvolution(const ConvolutionKey& key);
  void DestroyConvolution(ConvolutionHandle plan);
  DriverStatus RunConvolution(cudaStream_t stream, StreamUse use, ConvolutionHandle plan,
                              const ConvolutionCall& call);
  // Comes before a capture: where there was a plan, makes what captures need, which takes memory.
  DriverStatus PrepareCapture();

 private:
  DriverStatus Open(cudnnHandle_t& handle) ACCELD_REQUIRES(mutex_);

  // The stream is set for a call.
  Mutex mutex_;
  std::unique_ptr<const CudnnFunctions> functions_ ACCELD_GUARDED_BY(mutex_);
  HandlePerUse<cudnnHandle_t> handles_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld::cuda
