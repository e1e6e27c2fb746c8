// What the author of a backend writes: one device, driven by raw pointers and queues.
//
// Everything above has been checked: ops have valid parameters, their addresses are pointers into
// the device's own allocations, and every byte stays inside them. Nothing here blocks but Init,
// Allocate and Release.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/core/device_info.h"
#include "backends/core/status.h"
#include "backends/core/unique_fd.h"
#include "backends/ops/op.h"

namespace acceld {

// A copy from the host's memory into the device's. Without bytes, and then without addresses, it
// does nothing.
struct HostToDevice {
  std::byte* target = nullptr;
  const std::byte* source = nullptr;
  std::uint64_t bytes = 0;
};

// A copy from the device's memory into the host's.
struct DeviceToHost {
  std::byte* target = nullptr;
  const std::byte* source = nullptr;
  std::uint64_t bytes = 0;
};

// Ops that a device runs as one piece of work, in their order, any number of times: of
// Device::MakeProgram. Immutable. Its device outlives it, and no run of it is pending when it ends.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  DeviceProgram(const DeviceProgram&) = delete;
  DeviceProgram& operator=(const DeviceProgram&) = delete;

  const std::vector<Op>& ops() const { return ops_; }

 protected:
  explicit DeviceProgram(std::vector<Op> ops) : ops_(std::move(ops)) {}

 private:
  const std::vector<Op> ops_;
};

// One piece of work for a queue. The addresses in an Op are pointers into device memory. Where an
// op of a program fails, that is the program's error, and those behind it need not run.
using Work = std::variant<Op, HostToDevice, DeviceToHost, const DeviceProgram*>;

// How a piece of work went.
struct WorkResult {
  absl::Status status;
  // How long the device worked on it: wall time on a CPU, event time on a GPU.
  std::chrono::nanoseconds device_time{0};
  // When it was done, which may be noticed later.
  std::chrono::steady_clock::time_point finished;
};

using WorkDone = absl::AnyInvocable<void(const WorkResult&)>;

using LostCallback = absl::AnyInvocable<void(const absl::Status&)>;

struct MemoryOptions {
  // Memory that the host can map; only where has_mappable_memory().
  bool mappable = false;
  // Memory that another process can open; only where openable_granularity() is not 0.
  bool openable = false;
};

struct MemoryUsage {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
};

// An in-order sequence of work on a device.
enum class DeviceQueue : std::uint64_t {};

// Where work goes: a device, or what shares it out in front of one. Thread-safe.
class WorkSink {
 public:
  virtual ~WorkSink() = default;

  // Starts `work` after all earlier work of `queue`. `work` stays as it is until `done` is called:
  // exactly once, from any thread, also from inside Submit. `done` must not block.
  virtual void Submit(DeviceQueue queue, const Work& work, WorkDone done) = 0;

  // How much work of one queue it takes before the first is done, so that the device need not wait
  // for the host in between. Calls back in a queue's order, but for work that it drops before that
  // has started.
  virtual std::size_t queue_depth() const { return 1; }
};

// Thread-safe.
class Device : public WorkSink {
 public:
  // Comes first; idempotent. Where it fails the device cannot be used.
  virtual absl::Status Init() = 0;

  // Does not change, but for free_memory_bytes; see memory().
  virtual const DeviceInfo& info() const = 0;

  // The ops that the kernel table has. Others must not be submitted.
  virtual OpSet supported_ops() const = 0;

  virtual Tile RecommendedTile(std::int64_t m, std::int64_t n, std::int64_t k) const {
    return acceld::RecommendedTile(info().capabilities, m, n, k);
  }

  virtual MemoryUsage memory() const = 0;

  // Device memory that reads as zero, aligned to 256 bytes. `bytes` is at least 1. Out of memory
  // where the device or its budget has no more; a smaller request may then still succeed.
  virtual absl::StatusOr<std::byte*> Allocate(std::uint64_t bytes,
                                              const MemoryOptions& options) = 0;
  // Up to so many bytes, unless they are to be openable, Allocate takes no longer than Submit.
  virtual std::uint64_t quick_allocation_bytes() const { return 0; }
  // Gives back what Allocate, or ImportHandle, returned, of the same size. No work that names it is
  // pending.
  virtual void Release(std::byte* data, std::uint64_t bytes) = 0;

  // Whether Allocate can give memory that is host memory, shared as a file.
  virtual bool has_mappable_memory() const { return false; }
  // The file behind mappable memory that starts at `data`; its first byte is that of the memory,
  // and its size is rounded up to pages. The descriptor stays the device's and is valid until
  // Release. Unsupported for other memory.
  virtual absl::StatusOr<int> MappableFile(const std::byte* /*data*/) const {
    return UnsupportedError("The device has no mappable memory.");
  }

  // Openable memory takes a multiple of this many bytes; 0 where the device has none.
  virtual std::uint64_t openable_granularity() const { return 0; }
  // A new descriptor of the openable memory that starts at `data`, and which is zero but for what
  // was written since Allocate. Unsupported for other memory.
  virtual absl::StatusOr<UniqueFd> ExportHandle(const std::byte* /*data*/) {
    return UnsupportedError("The device has no openable memory.");
  }
  // The first `bytes` bytes, at least one, of openable memory of this device, aligned to 256 bytes,
  // until Release. `descriptor` stays the caller's and may be of anything: invalid argument where
  // it is not of such memory.
  virtual absl::StatusOr<std::byte*> ImportHandle(int /*descriptor*/, std::uint64_t /*bytes*/) {
    return UnsupportedError("The device has no openable memory.");
  }

  // Whether it runs several ops faster as one piece of work than one by one. Others are handed no
  // programs.
  virtual bool has_programs() const { return false; }
  // `ops`, of which there is at least one; only where has_programs(). Runs in any queue. The memory
  // that it names may be released before it ends; it is not run any more then.
  virtual std::unique_ptr<const DeviceProgram> MakeProgram(std::vector<Op> /*ops*/) {
    return nullptr;
  }

  // Host memory that copies to and from the device need not stage.
  virtual absl::StatusOr<std::byte*> AllocateHost(std::uint64_t bytes) = 0;
  virtual void ReleaseHost(std::byte* data, std::uint64_t bytes) = 0;

  // From now on copies need not stage this memory of the caller's: whole pages, of which none is
  // registered. An error only says that they stage it still.
  virtual absl::Status RegisterHost(std::byte* /*data*/, std::uint64_t /*bytes*/) {
    return absl::OkStatus();
  }
  // Comes once for what RegisterHost took, before the memory goes. No work that names it is
  // pending.
  virtual void UnregisterHost(std::byte* /*data*/) {}

  // Higher priority runs first where the device can choose; 0 is normal.
  virtual absl::StatusOr<DeviceQueue> CreateQueue(int priority) = 0;
  // Takes effect when the queue's work is done.
  virtual void DestroyQueue(DeviceQueue queue) = 0;

  // A device is lost where all that was in it is gone and only another process can use it again, if
  // any. All its work, and every later call that needs it, then ends with one error, which has the
  // reason DEVICE_LOST and names what ran. `callback` is called once with that error, from any
  // thread, at once where the device is lost already; it must not block. To be called at most once,
  // after Init.
  virtual void OnLost(LostCallback /*callback*/) {}
};

}  // namespace acceld
