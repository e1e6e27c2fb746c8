// A device that does no work: for tests and benchmarks of everything above a device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "backends/core/mutex.h"
#include "backends/device.h"

namespace acceld {

struct NullDeviceOptions {
  int ordinal = 0;
  // How much can be allocated at a time.
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
};

// Supports every op and allocates real host memory. Submit reports each piece of work, op or copy,
// as done at once without doing it: no memory is read or written, and the device time is zero. It
// describes itself as a CPU named "null". Thread-safe.
class NullDevice : public Device {
 public:
  explicit NullDevice(const NullDeviceOptions& options = {});

  absl::Status Init() override { return absl::OkStatus(); }
  const DeviceInfo& info() const override { return info_; }
  OpSet supported_ops() const override { return OpSet().set(); }
  MemoryUsage memory() const override;
  absl::StatusOr<std::byte*> Allocate(std::uint64_t bytes, const MemoryOptions& options) override;
  void Release(std::byte* data, std::uint64_t bytes) override;
  // Host memory is not counted against memory_bytes, but no single piece may exceed it.
  absl::StatusOr<std::byte*> AllocateHost(std::uint64_t bytes) override;
  void ReleaseHost(std::byte* data, std::uint64_t bytes) override;
  absl::StatusOr<DeviceQueue> CreateQueue(int priority) override;
  void DestroyQueue(DeviceQueue) override {}
  void Submit(DeviceQueue queue, const Work& work, WorkDone done) override;

 private:
  DeviceInfo info_;
  mutable Mutex mutex_;
  std::uint64_t used_bytes_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_queue_ ACCELD_GUARDED_BY(mutex_) = 0;
};

}  // namespace acceld
