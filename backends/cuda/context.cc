#include "backends/cuda/context.h"

#include <array>
#include <cstring>
#include <utility>

#include "backends/core/status.h"
#include "backends/cuda/driver_status.h"
#include "backends/cuda/kernels/reduce_rows.h"
#include "backends/cuda/pinned_pool.h"
#include "backends/cuda/plan_cache.h"
#include "backends/cuda/pool_allocation.h"
#include "backends/cuda/stream_workspace.h"

namespace acceld::cuda {

CudaContext::~CudaContext() {
  for (std::byte* data : allocated_) (void)driver_.Free(stream_, data);
}

absl::StatusOr<std::byte*> CudaContext::Workspace(std::uint64_t bytes) {
  if (!may_wait_) return QuickWorkspace(bytes);
  absl::Status added = counted_->Add(bytes, resources_.workspace_bytes);
  if (absl::IsResourceExhausted(added) && counted_->LetGo(/*may_wait=*/true)) {
    added = counted_->Add(bytes, resources_.workspace_bytes);
  }
  ACCELD_RETURN_IF_ERROR(added);
  DriverResult<std::byte*> data = AllocateOrTrim(driver_, stream_, bytes);
  if (data.status.code == DriverCode::kOutOfMemory && counted_->LetGo(/*may_wait=*/true)) {
    data = AllocateOrTrim(driver_, stream_, bytes);
  }
  if (!data.ok()) return ToStatus(data.status, driver_.info());
  allocated_.push_back(data.value);
  counted_->KeepToBudget();
  return data.value;
}

absl::StatusOr<std::byte*> CudaContext::QuickWorkspace(std::uint64_t bytes) {
  if (!counted_->Add(bytes, resources_.workspace_bytes).ok()) return HasToWait();
  const DriverResult<std::byte*> data = driver_.Allocate(stream_, bytes);
  if (data.status.code == DriverCode::kOutOfMemory) return HasToWait();
  if (!data.ok()) return ToStatus(data.status, driver_.info());
  allocated_.push_back(data.value);
  if (!counted_->IsWithinBudget()) return HasToWait();
  return data.value;
}

absl::StatusOr<std::shared_ptr<const ConvolutionPlan>> CudaContext::Plan(
    const ConvolutionKey& key) {
  if (!may_wait_) {
    std::shared_ptr<const ConvolutionPlan> plan = plans_.Find(key);
    if (plan == nullptr) return HasToWait();
    return plan;
  }
  std::shared_ptr<const ConvolutionPlan> plan;
  const auto get = [&] {
    DriverResult<std::shared_ptr<const ConvolutionPlan>> got = plans_.Get(key);
    plan = std::move(got.value);
    return std::move(got.status);
  };
  ACCELD_RETURN_IF_ERROR(ToStatus(WithMemory(get), driver_.info()));
  return plan;
}

absl::StatusOr<const std::byte*> CudaContext::Upload(absl::Span<const std::byte> source) {
  ACCELD_ASSIGN_OR_RETURN(std::byte* const target, Workspace(source.size()));
  const DriverResult<std::byte*> pinned = pinned_.Take(source.size());
  if (!pinned.ok()) return ToStatus(pinned.status, driver_.info());
  resources_.pinned.push_back(pinned.value);
  std::memcpy(pinned.value, source.data(), source.size());
  ACCELD_RETURN_IF_ERROR(Submitted(
      [&] { return driver_.CopyToDevice(stream_, target, pinned.value, source.size()); }));
  return target;
}

DriverStatus CudaContext::WithMemory(absl::FunctionRef<DriverStatus()> call) {
  // A capture is made again as a whole.
  const bool captures = counted_ == nullptr && stream_ != StreamHandle{};
  if (captures) return call();
  DriverStatus status = CallOrTrim(driver_, call);
  if (status.code == DriverCode::kOutOfMemory && counted_ != nullptr &&
      counted_->LetGo(may_wait_)) {
    status = CallOrTrim(driver_, call);
  }
  return status;
}

absl::Status CudaContext::Submitted(absl::FunctionRef<DriverStatus()> submit) {
  if (stream_ == StreamHandle{}) return absl::OkStatus();
  const DriverStatus status = WithMemory(submit);
  if (status.code == DriverCode::kOutOfMemory && !may_wait_ && !has_submitted_) return HasToWait();
  has_submitted_ = true;
  return ToStatus(status, driver_.info());
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

absl::Status CudaContext::Reduce(ReductionCall call) {
  ACCELD_ASSIGN_OR_RETURN(call.workspace, LibraryWorkspace(call.workspace_bytes()));
  return Submitted([&] { return driver_.Reduce(stream_, call); });
}

absl::Status CudaContext::Gemm(GemmCall call) {
  ACCELD_ASSIGN_OR_RETURN(call.workspace, LibraryWorkspace(driver_.GemmWorkspaceBytes()));
  return Submitted([&] { return driver_.Gemm(stream_, call); });
}

absl::Status CudaContext::Convolution(const ConvolutionKey& key, ConvolutionCall call) {
  struct Array {
    void*& data;
    std::uint64_t bytes;
    bool written;
    void* original = nullptr;
  };
  const auto bytes = [](const std::array<std::int64_t, 4>& sizes) {
    return static_cast<std::uint64_t>(ElementCount(sizes)) * sizeof(float);
  };
  const auto bytes_of = [](void* data) { return static_cast<std::byte*>(data); };
  Array arrays[] = {
      {call.input, bytes(key.shape.input), key.kind == ConvolutionKind::kBackwardData},
      {call.filter, bytes(key.shape.filter), key.kind == ConvolutionKind::kBackwardFilter},
      {call.output, bytes(key.shape.output), key.kind == ConvolutionKind::kForward}};
  for (Array& array : arrays) {
    if (reinterpret_cast<std::uintptr_t>(array.data) % kConvolutionAlignment == 0) continue;
    ACCELD_ASSIGN_OR_RETURN(std::byte* const aligned, Workspace(array.bytes));
    array.original = std::exchange(array.data, aligned);
    if (array.written) continue;
    ACCELD_RETURN_IF_ERROR(CopyOnDevice(aligned, bytes_of(array.original), array.bytes));
  }
  ACCELD_ASSIGN_OR_RETURN(const std::shared_ptr<const ConvolutionPlan> plan, Plan(key));
  if (plan->workspace_bytes > 0) {
    ACCELD_ASSIGN_OR_RETURN(call.workspace, LibraryWorkspace(plan->workspace_bytes));
  }
  resources_.kept.push_back(plan);
  ACCELD_RETURN_IF_ERROR(
      Submitted([&] { return driver_.RunConvolution(stream_, plan->handle, call); }));
  for (const Array& array : arrays) {
    if (array.original == nullptr || !array.written) continue;
    ACCELD_RETURN_IF_ERROR(
        CopyOnDevice(bytes_of(array.original), bytes_of(array.data), array.bytes));
  }
  return absl::OkStatus();
}

}  // namespace acceld::cuda
