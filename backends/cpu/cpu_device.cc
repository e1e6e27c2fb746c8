#include "backends/cpu/cpu_device.h"

#include <fmt/format.h>

#include <atomic>
#include <string>

#include "backends/core/status.h"
#include "backends/cpu/byte_ranges.h"
#include "backends/cpu/context.h"
#include "backends/cpu/host_resources.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/memory_budget.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/work_runner.h"
#include "backends/cpu/work_size.h"
#include "backends/cpu/zeroed_memory.h"

namespace acceld {
namespace {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuOptions& options)
      : threads_(options.threads != 0 ? options.threads : UsableCores()),
        budget_(options.memory_limit_bytes != 0 ? options.memory_limit_bytes
                                                : UsableMemoryBytes() / 4 * 3),
        runner_([this](const Work& work, bool small) { return Execute(work, small); }) {
    info_.kind = BackendKind::kCpu;
    info_.uuid = "cpu-0";
    info_.name = ProcessorName();
    info_.total_memory_bytes = budget_.limit_bytes();
    info_.free_memory_bytes = budget_.limit_bytes();
    info_.memory_kind = MemoryKind::kHost;
  }

  absl::Status Init() override {
    if (threads_ < 1 || threads_ > kMaxCpuThreads) {
      return InvalidArgument(fmt::format("The cpu device is given {} threads; allowed are 1 to {}.",
                                         threads_, kMaxCpuThreads));
    }
    kept_workspace_.reset(AllocateZeroed(kKeptWorkspaceBytes));
    if (kept_workspace_ == nullptr) {
      return OutOfMemory(fmt::format("The host has no {} bytes for the cpu device's workspace.",
                                     kKeptWorkspaceBytes));
    }
    return runner_.Start();
  }

  const DeviceInfo& info() const override { return info_; }

  OpSet supported_ops() const override { return cpu::kKernels.supported_ops(); }

  MemoryUsage memory() const override {
    return {.total_bytes = budget_.limit_bytes(),
            .free_bytes = budget_.limit_bytes() - budget_.used_bytes()};
  }

  absl::StatusOr<std::byte*> Allocate(std::uint64_t bytes,
                                      const MemoryOptions& /*options*/) override {
    ACCELD_RETURN_IF_ERROR(budget_.Reserve(bytes));
    std::byte* data = AllocateZeroed(bytes);
    if (data == nullptr) {
      budget_.Release(bytes);
      return OutOfMemory(fmt::format("The host has no {} bytes left for the cpu device.", bytes));
    }
    return data;
  }

  void Release(std::byte* data, std::uint64_t bytes) override {
    FreeZeroed(data, bytes);
    budget_.Release(bytes);
  }

  absl::StatusOr<std::byte*> AllocateHost(std::uint64_t bytes) override {
    std::byte* data = AllocateZeroed(bytes);
    if (data == nullptr) {
      return OutOfMemory(fmt::format("The host has no {} bytes of host memory left.", bytes));
    }
    return data;
  }

  void ReleaseHost(std::byte* data, std::uint64_t bytes) override { FreeZeroed(data, bytes); }

  absl::StatusOr<DeviceQueue> CreateQueue(int /*priority*/) override {
    return DeviceQueue{next_queue_.fetch_add(1, std::memory_order_relaxed)};
  }

  void DestroyQueue(DeviceQueue /*queue*/) override {}

  void Submit(DeviceQueue /*queue*/, const Work& work, WorkDone done) override {
    runner_.Submit(work, std::move(done), IsSmall(work));
  }

 private:
  struct FreeWorkspace {
    void operator()(std::byte* data) const { FreeZeroed(data, kKeptWorkspaceBytes); }
  };

  absl::Status Execute(const Work& work, bool small) {
    const int threads = small ? 1 : threads_;
    const ScopedOpenMpThreads openmp(threads);
    if (const Op* op = std::get_if<Op>(&work)) {
      CpuContext context(threads, kept_workspace_.get(), budget_);
      return cpu::kKernels.Run(*op, context);
    }
    if (const auto* copy = std::get_if<HostToDevice>(&work)) {
      CopyBytes(copy->target, copy->source, copy->bytes, threads);
    } else if (const auto* copy = std::get_if<DeviceToHost>(&work)) {
      CopyBytes(copy->target, copy->source, copy->bytes, threads);
    }
    return absl::OkStatus();
  }

  const int threads_;
  DeviceInfo info_;
  MemoryBudget budget_;
  std::unique_ptr<std::byte, FreeWorkspace> kept_workspace_;
  std::atomic<std::uint64_t> next_queue_{1};
  // Last, so that its destructor, which finishes the work, comes first.
  WorkRunner runner_;
};

}  // namespace

std::unique_ptr<Device> MakeCpuDevice(const CpuOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

}  // namespace acceld
