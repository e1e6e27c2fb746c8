#include "backends/cuda/real/cudnn.h"

#include <cstdint>
#include <utility>

#include "backends/cuda/real/convolution.h"

namespace acceld::cuda {
namespace {

ConvolutionHandle ToHandle(const Convolution* convolution) {
  return static_cast<ConvolutionHandle>(reinterpret_cast<std::uintptr_t>(convolution));
}

const Convolution* FromHandle(ConvolutionHandle handle) {
  return reinterpret_cast<const Convolution*>(static_cast<std::uintptr_t>(handle));
}

}  // namespace

Cudnn::~Cudnn() {
  MutexLock lock(mutex_);
  if (handle_ != nullptr) (void)functions_->destroy(handle_);
}

DriverResult<ConvolutionPlan> Cudnn::PlanConvolution(const ConvolutionKey& key) {
  MutexLock lock(mutex_);
  if (handle_ == nullptr) {
    DriverStatus opened = Open();
    if (!opened.ok()) return {.status = std::move(opened)};
  }
  auto convolution = std::make_unique<Convolution>(*functions_, key);
  DriverStatus made = convolution->Describe();
  if (made.ok()) made = convolution->Choose(handle_);
  if (!made.ok()) return {.status = std::move(made)};
  const std::uint64_t workspace_bytes = convolution->workspace_bytes();
  return {.value = {.handle = ToHandle(convolution.release()), .workspace_bytes = workspace_bytes}};
}

void Cudnn::DestroyConvolution(ConvolutionHandle plan) { delete FromHandle(plan); }

DriverStatus Cudnn::RunConvolution(cudaStream_t stream, ConvolutionHandle plan,
                                   const ConvolutionCall& call) {
  MutexLock lock(mutex_);
  DriverStatus set =
      functions_->ToStatus("cudnnSetStream", functions_->set_stream(handle_, stream));
  if (!set.ok()) return set;
  return FromHandle(plan)->Run(handle_, call);
}

DriverStatus Cudnn::Open() {
  if (functions_ == nullptr) {
    auto functions = std::make_unique<CudnnFunctions>();
    DriverStatus opened = functions->Open();
    if (!opened.ok()) return opened;
    functions_ = std::move(functions);
  }
  cudnnHandle_t handle = nullptr;
  DriverStatus created = functions_->ToStatus("cudnnCreate", functions_->create(&handle));
  if (created.ok()) handle_ = handle;
  return created;
}

}  // namespace acceld::cuda
