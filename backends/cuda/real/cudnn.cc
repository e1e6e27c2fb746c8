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
  for (const cudnnHandle_t handle : {handles_.run, handles_.capture}) {
    if (handle != nullptr) (void)functions_->destroy(handle);
  }
}

DriverStatus Cudnn::PrepareCapture() {
  MutexLock lock(mutex_);
  return handles_.run == nullptr ? DriverStatus{} : Open(handles_.capture);
}

DriverResult<ConvolutionPlan> Cudnn::PlanConvolution(const ConvolutionKey& key) {
  MutexLock lock(mutex_);
  if (DriverStatus opened = Open(handles_.run); !opened.ok()) return {.status = std::move(opened)};
  auto convolution = std::make_unique<Convolution>(*functions_, key);
  DriverStatus made = convolution->Describe();
  if (made.ok()) made = convolution->Choose(handles_.run);
  if (!made.ok()) return {.status = std::move(made)};
  const std::uint64_t workspace_bytes = convolution->workspace_bytes();
  return {.value = {.handle = ToHandle(convolution.release()), .workspace_bytes = workspace_bytes}};
}

void Cudnn::DestroyConvolution(ConvolutionHandle plan) { delete FromHandle(plan); }

DriverStatus Cudnn::RunConvolution(cudaStream_t stream, StreamUse use, ConvolutionHandle plan,
                                   const ConvolutionCall& call) {
  MutexLock lock(mutex_);
  cudnnHandle_t& handle = handles_.For(use);
  if (DriverStatus opened = Open(handle); !opened.ok()) return opened;
  DriverStatus set = functions_->ToStatus("cudnnSetStream", functions_->set_stream(handle, stream));
  if (!set.ok()) return set;
  return FromHandle(plan)->Run(handle, call);
}

DriverStatus Cudnn::Open(cudnnHandle_t& handle) {
  if (handle != nullptr) return {};
  if (functions_ == nullptr) {
    auto functions = std::make_unique<CudnnFunctions>();
    DriverStatus opened = functions->Open();
    if (!opened.ok()) return opened;
    functions_ = std::move(functions);
  }
  cudnnHandle_t created = nullptr;
  DriverStatus status = functions_->ToStatus("cudnnCreate", functions_->create(&created));
  if (status.ok()) handle = created;
  return status;
}

}  // namespace acceld::cuda
