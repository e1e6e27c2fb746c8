#include "backends/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/core/mutex.h"
#include "backends/core/status.h"
#include "backends/cuda/cuda_queue.h"
#include "backends/cuda/driver_status.h"
#include "backends/cuda/op_table.h"
#include "backends/cuda/progress_thread.h"

namespace acceld::cuda {
namespace {

// Enough that the card has work while the host makes more.
constexpr std::size_t kQueueDepth = 32;

class CudaDevice final : public Device {
 public:
  CudaDevice(std::unique_ptr<Driver> driver, const CudaOptions& options)
      : driver_(std::move(driver)),
        info_(Limited(driver_->info(), options)),
        parts_(*driver_, info_.total_memory_bytes) {}

  absl::Status Init() override {
    MutexLock lock(mutex_);
    if (initialized_) return absl::OkStatus();
    ACCELD_RETURN_IF_ERROR(Judge(driver_->Init(), "its initialization"));
    ACCELD_RETURN_IF_ERROR(parts_.memory.Init());
    ACCELD_RETURN_IF_ERROR(parts_.submissions.Start());
    ACCELD_RETURN_IF_ERROR(progress_.Start());
    initialized_ = true;
    return absl::OkStatus();
  }

  const DeviceInfo& info() const override { return info_; }
  OpSet supported_ops() const override { return kOps.supported_ops(); }

  MemoryUsage memory() const override { return parts_.memory.Usage(); }

  // Waits for the card where that is full.
  absl::StatusOr<std::byte*> Allocate(std::uint64_t bytes, const MemoryOptions& options) override {
    if (parts_.health.lost()) return parts_.health.status();
    const auto allocate = [&] {
      return options.openable ? parts_.memory.AllocateOpenable(bytes)
                              : parts_.memory.Allocate(bytes);
    };
    absl::StatusOr<std::byte*> data = allocate();
    // Graphs may go for a client's memory; their programs run as well without.
    if (absl::IsResourceExhausted(data.status()) && parts_.graphs.Clear()) data = allocate();
    if (!data.ok()) return parts_.health.Judge(data.status(), "an allocation");
    return data;
  }

  void Release(std::byte* data, std::uint64_t bytes) override {
    parts_.memory.Release(data, bytes);
  }

  std::uint64_t openable_granularity() const override {
    return parts_.memory.openable_granularity();
  }

  absl::StatusOr<UniqueFd> ExportHandle(const std::byte* data) override {
    if (parts_.health.lost()) return parts_.health.status();
    absl::StatusOr<UniqueFd> descriptor = parts_.memory.Export(data);
    if (!descriptor.ok()) return parts_.health.Judge(descriptor.status(), "an export");
    return descriptor;
  }

  absl::StatusOr<std::byte*> ImportHandle(int descriptor, std::uint64_t bytes) override {
    if (parts_.health.lost()) return parts_.health.status();
    absl::StatusOr<std::byte*> data = parts_.memory.Import(descriptor, bytes);
    if (!data.ok()) return parts_.health.Judge(data.status(), "an import");
    return data;
  }

  absl::StatusOr<std::byte*> AllocateHost(std::uint64_t bytes) override {
    if (parts_.health.lost()) return parts_.health.status();
    const DriverResult<std::byte*> data = driver_->AllocateHost(bytes);
    if (!data.ok()) return Judge(data.status, "an allocation");
    std::memset(data.value, 0, bytes);
    parts_.pinned_ranges.Add(data.value, bytes);
    return data.value;
  }

  void ReleaseHost(std::byte* data, std::uint64_t) override {
    parts_.pinned_ranges.Remove(data);
    (void)driver_->FreeHost(data);
  }

  absl::Status RegisterHost(std::byte* data, std::uint64_t bytes) override {
    if (parts_.health.lost()) return parts_.health.status();
    if (const DriverStatus registered = driver_->RegisterHost(data, bytes); !registered.ok()) {
      return Judge(registered, "the registration of host memory");
    }
    parts_.pinned_ranges.Add(data, bytes);
    return absl::OkStatus();
  }

  void UnregisterHost(std::byte* data) override {
    parts_.pinned_ranges.Remove(data);
    (void)driver_->UnregisterHost(data);
  }

  void OnLost(LostCallback callback) override { parts_.health.OnLost(std::move(callback)); }

  absl::StatusOr<DeviceQueue> CreateQueue(int priority) override {
    if (parts_.health.lost()) return parts_.health.status();
    const DriverResult<StreamHandle> stream = driver_->CreateStream(priority);
    if (!stream.ok()) return Judge(stream.status, "the creation of a queue");
    auto queue = std::make_shared<CudaQueue>(parts_, stream.value);
    MutexLock lock(mutex_);
    const DeviceQueue number{++last_queue_};
    queues_.emplace(number, std::move(queue));
    return number;
  }

  void DestroyQueue(DeviceQueue number) override {
    std::shared_ptr<CudaQueue> queue;  // Ends without the lock, or when its work is done.
    MutexLock lock(mutex_);
    const auto found = queues_.find(number);
    queue = std::move(found->second);
    queues_.erase(found);
  }

  void Submit(DeviceQueue number, const Work& work, WorkDone done) override {
    const std::shared_ptr<CudaQueue> queue = Find(number);
    if (queue->Submit(work, std::move(done))) progress_.Add(queue);
  }

  bool has_programs() const override { return true; }
  std::unique_ptr<const DeviceProgram> MakeProgram(std::vector<Op> ops) override {
    return std::make_unique<const CudaProgram>(parts_.graphs, std::move(ops));
  }

  std::size_t queue_depth() const override { return kQueueDepth; }

 private:
  std::shared_ptr<CudaQueue> Find(DeviceQueue number) {
    MutexLock lock(mutex_);
    return queues_.at(number);
  }

  absl::Status Judge(const DriverStatus& status, std::string_view running) {
    if (status.ok()) return absl::OkStatus();
    return parts_.health.Judge(ToStatus(status, info()), running);
  }

  const std::unique_ptr<Driver> driver_;
  const DeviceInfo info_;
  DeviceParts parts_;
  Mutex mutex_;
  bool initialized_ ACCELD_GUARDED_BY(mutex_) = false;
  std::uint64_t last_queue_ ACCELD_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<DeviceQueue, std::shared_ptr<CudaQueue>> queues_ ACCELD_GUARDED_BY(mutex_);
  // Last, so that its destructor, which finishes the work, comes first.
  ProgressThread progress_;
};

}  // namespace

DeviceInfo Limited(DeviceInfo card, const CudaOptions& options) {
  if (options.memory_limit_bytes == 0) return card;
  card.total_memory_bytes = std::min(card.total_memory_bytes, options.memory_limit_bytes);
  return card;
}

std::unique_ptr<Device> MakeCudaDevice(std::unique_ptr<Driver> driver, const CudaOptions& options) {
  return std::make_unique<CudaDevice>(std::move(driver), options);
}

}  // namespace acceld::cuda
