#include "backends/cpu/cpu_device.h"

#include <fmt/format.h>

#include <atomic>
#include <string>

#include "backends/core/status.h"
#include "backends/cpu/byte_ranges.h"
#include "backends/cpu/context.h"
#include "backends/cpu/cpu_memory.h"
#include "backends/cpu/host_resources.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/work_runner.h"
#include "backends/cpu/work_size.h"
#include "backends/cpu/zeroed_memory.h"
#include "backends/memory/streaming_copy.h"

namespace acceld {
namespace {

// Copies to the host from here on go past the caches. Smaller ones may be pieces that their reader
// takes from the cache.
constexpr std::uint64_t kStreamedReadFromBytes = 4 * 1024 * 1024;

// To reserve and map more takes long.
constexpr std::uint64_t kQuickAllocationBytes = 1 << 20;

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuOptions& options)
      : threads_(options.threads != 0 ? options.threads : DefaultThreads()),
        memory_(options.memory_limit_bytes != 0 ? options.memory_limit_bytes
                                                : UsableMemoryBytes() / 4 * 3),
        runner_([this](const Work& work, bool small) { return Execute(work, small); }) {
    info_.kind = BackendKind::kCpu;
    info_.uuid = "cpu-0";
    info_.name = ProcessorName();
    info_.total_memory_bytes = memory_.budget().limit_bytes();
    info_.free_memory_bytes = memory_.budget().limit_bytes();
    info_.memory_kind = MemoryKind::kHost;
  }

  absl::Status Init() override {
    if (threads_ < 1 || threads_ > kMaxCpuThreads) {
      return InvalidArgument(fmt::format("The cpu device is given {} threads; allowed are 1 to {}.",
                                         threads_, kMaxCpuThreads));
    }
    if (threads_ > OpenMpThreadLimit()) {
      return InvalidArgument(
          fmt::format("The cpu device is given {} threads; OMP_THREAD_LIMIT allows {}.", threads_,
                      OpenMpThreadLimit()));
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
    const MemoryBudget& budget = memory_.budget();
    return {.total_bytes = budget.limit_bytes(), .free_bytes = budget.left_bytes()};
  }

  absl::StatusOr<std::byte*> Allocate(std::uint64_t bytes, const MemoryOptions& options) override {
    return memory_.Allocate(bytes, options);
  }

  std::uint64_t quick_allocation_bytes() const override { return kQuickAllocationBytes; }

  void Release(std::byte* data, std::uint64_t bytes) override { memory_.Release(data, bytes); }

  bool has_mappable_memory() const override { return true; }

  absl::StatusOr<int> MappableFile(const std::byte* data) const override {
    return memory_.MappableFile(data);
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
    UnzeroedMemory& unzeroed = memory_.unzeroed();
    const bool is_inline = IsSmall(work) && (unzeroed.empty() || !unzeroed.MustZeroFor(work));
    runner_.Submit(work, std::move(done), is_inline);
  }

 private:
  struct FreeWorkspace {
    void operator()(std::byte* data) const { FreeZeroed(data, kKeptWorkspaceBytes); }
  };

  absl::Status Execute(const Work& work, bool small) {
    UnzeroedMemory& unzeroed = memory_.unzeroed();
    const bool overwrites = !unzeroed.empty() && unzeroed.Prepare(work, small ? 1 : threads_);
    ACCELD_RETURN_IF_ERROR(ExecuteOnZeroed(work, small));
    if (overwrites) unzeroed.Overwritten(work);
    return absl::OkStatus();
  }

  absl::Status ExecuteOnZeroed(const Work& work, bool small) {
    // Small work that had to wait for zeros is still split as small work is.
    const int threads = small || IsSmall(work) ? 1 : threads_;
    const ScopedOpenMpThreads openmp(threads);
    if (const Op* op = std::get_if<Op>(&work)) {
      CpuContext context(threads, kept_workspace_.get(), memory_.budget());
      return cpu::kKernels.Run(*op, context);
    }
    if (const auto* copy = std::get_if<HostToDevice>(&work)) {
      Copy(*copy, threads, kStreamingFromBytes);
      return absl::OkStatus();
    }
    if (const auto* copy = std::get_if<DeviceToHost>(&work)) {
      Copy(*copy, threads, kStreamedReadFromBytes);
      return absl::OkStatus();
    }
    return UnsupportedError("The cpu device has no programs.");
  }

  // `HostOrDeviceCopy` is HostToDevice or DeviceToHost.
  template <typename HostOrDeviceCopy>
  static void Copy(const HostOrDeviceCopy& copy, int threads, std::uint64_t streamed_from_bytes) {
    const auto run = copy.bytes >= streamed_from_bytes ? StreamBytes : CopyBytes;
    run(copy.target, copy.source, copy.bytes, threads);
  }

  const int threads_;
  DeviceInfo info_;
  CpuMemory memory_;
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
