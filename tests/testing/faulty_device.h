// A device for tests that fails and holds back work on demand, and otherwise is the one it wraps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/core/mutex.h"
#include "backends/device.h"

namespace acceld {

// Thread-safe. Faults and gates may be set before or while others use the device.
class FaultyDevice : public Device {
 public:
  explicit FaultyDevice(std::unique_ptr<Device> device);
  // Opens every gate, so that all work is passed on and reported by the wrapped device.
  ~FaultyDevice() override;

  // ---- Faults. `n` counts from this call on: 1 is the next one. `status` is an error. ----

  // Makes Init return `status`.
  void FailInit(absl::Status status);
  // Makes the n-th piece of work end with `status`. It runs, in its queue's order, and then is
  // reported as failed: what a fault leaves in an op's outputs is undefined.
  void FailSubmit(std::int64_t n, absl::Status status);
  // Makes the n-th Allocate return `status`.
  void FailAllocate(std::int64_t n, absl::Status status);
  // Makes every RegisterHost return `status`.
  void FailRegisterHost(absl::Status status);
  // Loses the device when the next op called `name` runs: its work, all that ends later, and later
  // calls that need the device fail with `status`.
  void LoseOn(std::string name, absl::Status status);

  // ---- Gates: work submitted to a queue whose gate is closed waits here, in order. ----

  // Closes the gate of one queue, or of every queue there is or will be.
  void CloseGate(std::optional<DeviceQueue> queue = std::nullopt);
  // Opens it, and passes on what waits.
  void OpenGate(std::optional<DeviceQueue> queue = std::nullopt);
  // Lets the next `count` pieces of work through the queue's closed gate.
  void Pass(DeviceQueue queue, std::int64_t count = 1);
  // How many pieces of work wait.
  std::size_t held() const;
  // Waits until at least `count` do.
  void WaitForHeld(std::size_t count);

  // ---- What was seen ----

  // Calls of Submit.
  std::int64_t submits() const;
  // Bytes allocated and not yet released.
  std::uint64_t live_bytes() const;
  std::uint64_t live_host_bytes() const;
  // What is registered: start to size.
  std::map<std::byte*, std::uint64_t> registered() const;
  // Calls of RegisterHost.
  int registrations() const;

  absl::Status Init() override;
  const DeviceInfo& info() const override;
  OpSet supported_ops() const override;
  Tile RecommendedTile(std::int64_t m, std::int64_t n, std::int64_t k) const override;
  MemoryUsage memory() const override;
  absl::StatusOr<std::byte*> Allocate(std::uint64_t bytes, const MemoryOptions& options) override;
  std::uint64_t quick_allocation_bytes() const override;
  void Release(std::byte* data, std::uint64_t bytes) override;
  bool has_mappable_memory() const override;
  absl::StatusOr<int> MappableFile(const std::byte* data) const override;
  std::uint64_t openable_granularity() const override;
  absl::StatusOr<UniqueFd> ExportHandle(const std::byte* data) override;
  absl::StatusOr<std::byte*> ImportHandle(int descriptor, std::uint64_t bytes) override;
  bool has_programs() const override;
  std::size_t queue_depth() const override;
  std::unique_ptr<const DeviceProgram> MakeProgram(std::vector<Op> ops) override;
  absl::StatusOr<std::byte*> AllocateHost(std::uint64_t bytes) override;
  void ReleaseHost(std::byte* data, std::uint64_t bytes) override;
  absl::Status RegisterHost(std::byte* data, std::uint64_t bytes) override;
  void UnregisterHost(std::byte* data) override;
  absl::StatusOr<DeviceQueue> CreateQueue(int priority) override;
  void DestroyQueue(DeviceQueue queue) override;
  void Submit(DeviceQueue queue, const Work& work, WorkDone done) override;
  void OnLost(LostCallback callback) override;

 private:
  struct PendingWork {
    const Work* work;
    WorkDone done;
  };
  struct QueueState {
    std::deque<PendingWork> pending;
    // How many pieces may pass although the gate is closed.
    std::int64_t passes = 0;
    // A thread is passing work on; another must not overtake it.
    bool passing = false;
    bool destroyed = false;
  };
  // Faults by the number of the call they strike.
  struct Faults {
    std::int64_t calls = 0;
    std::map<std::int64_t, absl::Status> by_call;

    // Counts a call, and takes its fault; OK where it has none.
    absl::Status Next();
  };

  // Whether this is the work that loses the device.
  bool Loses(const Work& work) const ACCELD_REQUIRES(mutex_);
  void Lose() ACCELD_EXCLUDES(mutex_);
  // The loss; OK where there is none.
  absl::Status loss() const ACCELD_EXCLUDES(mutex_);
  bool Closed(DeviceQueue queue) const ACCELD_REQUIRES(mutex_);
  std::size_t HeldLocked() const ACCELD_REQUIRES(mutex_);
  // Passes on the work of `queue` that its gate lets through.
  void PassOn(DeviceQueue queue) ACCELD_EXCLUDES(mutex_);

  const std::unique_ptr<Device> device_;

  mutable Mutex mutex_;
  CondVar held_changed_;
  absl::Status init_fault_ ACCELD_GUARDED_BY(mutex_);
  Faults submit_faults_ ACCELD_GUARDED_BY(mutex_);
  Faults allocate_faults_ ACCELD_GUARDED_BY(mutex_);
  absl::Status register_fault_ ACCELD_GUARDED_BY(mutex_);
  // The op that loses the device, empty where none does, and the error then.
  std::string losing_op_ ACCELD_GUARDED_BY(mutex_);
  absl::Status loss_to_come_ ACCELD_GUARDED_BY(mutex_);
  absl::Status loss_ ACCELD_GUARDED_BY(mutex_);
  LostCallback on_lost_ ACCELD_GUARDED_BY(mutex_);
  // Of every queue that `closed_` does not name.
  bool closed_by_default_ ACCELD_GUARDED_BY(mutex_) = false;
  std::map<DeviceQueue, bool> closed_ ACCELD_GUARDED_BY(mutex_);
  std::map<DeviceQueue, QueueState> queues_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t live_bytes_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::uint64_t live_host_bytes_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::map<std::byte*, std::uint64_t> registered_ ACCELD_GUARDED_BY(mutex_);
  int registrations_ ACCELD_GUARDED_BY(mutex_) = 0;
};

}  // namespace acceld
