#include "backends/cuda/context.h"

#include <cstring>
#include <utility>

#include "backends/core/status.h"
#include "backends/cuda/driver_status.h"
#include "backends/cuda/pinned_pool.h"
#include "backends/cuda/plan_cache.h"
#include "backends/cuda/pool_allocation.h"
#include "backends/cuda/stream_workspace.h"

namespace acceld::cuda {

CudaContext::~CudaContext() {
  for (std::byte* data : allocated_) (void)driver_.Free(stream_, data);
}

absl::StatusOr<std::byte*> CudaContext::Workspace(std::uint64_t bytes) {
  ACCELD_RETURN_IF_ERROR(counted_->Add(bytes, resources_.workspace_bytes));
  // Then other streams' is waited for.
  if (counted_->exceeds_budget()) (void)driver_.TrimPool();
  const DriverResult<std::byte*> data = AllocateOrTrim(driver_, stream_, bytes);
  if (!data.ok()) return ToStatus(data.status, driver_.info());
  allocated_.push_back(data.value);
  return data.value;
}

absl::StatusOr<const std::byte*> CudaContext::Upload(absl::Span<const std::byte> source) {
  ACCELD_ASSIGN_OR_RETURN(std::byte* const target, Workspace(source.size()));
  const DriverResult<std::byte*> pinned = pinned_.Take(source.size());
  if (!pinned.ok()) return ToStatus(pinned.status, driver_.info());
  resources_.pinned.push_back(pinned.value);
  std::memcpy(pinned.value, source.data(), source.size());
  ACCELD_RETURN_IF_ERROR(
      ToStatus(driver_.CopyToDevice(stream_, target, pinned.value, source.size()), driver_.info()));
  return target;
}

template <typename Submit>
absl::Status CudaContext::Submitted(Submit submit) {
  if (stream_ == StreamHandle{}) return absl::OkStatus();
  return ToStatus(submit(), driver_.info());
}

absl::Status CudaContext::Launch(const Kernel& kernel) {
  return Submitted([&] { return driver_.Launch(stream_, kernel); });
}

absl::Status CudaContext::Memset(std::byte* target, std::uint8_t value, std::uint64_t bytes) {
  return Submitted([&] { return driver_.Memset(stream_, target, value, bytes); });
}

absl::Status CudaContext::CopyOnDevice(std::byte* target, const std::byte* source,
                                       std::uint64_t bytes) {
  return Submitted([&] { return driver_.CopyOnDevice(stream_, target, source, bytes); });
}

absl::StatusOr<std::byte*> CudaContext::LibraryWorkspace(std::uint64_t bytes) {
  if (bytes > library_workspace_.size()) {
    ACCELD_ASSIGN_OR_RETURN(std::byte* const data, Workspace(bytes));
    library_workspace_ = absl::MakeSpan(data, bytes);
  }
  return library_workspace_.data();
}

absl::Status CudaContext::Gemm(GemmCall call) {
  ACCELD_ASSIGN_OR_RETURN(call.workspace, LibraryWorkspace(driver_.GemmWorkspaceBytes()));
  return Submitted([&] { return driver_.Gemm(stream_, call); });
}

absl::Status CudaContext::Convolution(const ConvolutionKey& key, ConvolutionCall call) {
  DriverResult<std::shared_ptr<const ConvolutionPlan>> plan = plans_.Get(key);
  if (!plan.ok()) return ToStatus(plan.status, driver_.info());
  if (plan.value->workspace_bytes > 0) {
    ACCELD_ASSIGN_OR_RETURN(call.workspace, LibraryWorkspace(plan.value->workspace_bytes));
  }
  resources_.kept.push_back(plan.value);
  return Submitted([&] { return driver_.RunConvolution(stream_, plan.value->handle, call); });
}

}  // namespace acceld::cuda
