// The memory that a card's clients hold: of the driver's pool, or openable, and zero before its
// first use. It counts against the device's budget, as do graphs' memory and the workspace of ops.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/core/mutex.h"
#include "backends/cuda/background_thread.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/openable_memory.h"
#include "backends/device.h"
#include "backends/memory/memory_budget.h"
#include "fmt/format.h"

namespace acceld::cuda {

// Memory is allocated, zeroed and freed in a stream of its own; a stream that uses it is ordered
// behind that first. What is openable is zeroed in another, which is waited for. Thread-safe.
class DeviceMemory {
 public:
  // `driver` outlives it. All may take `limit_bytes` together.
  DeviceMemory(Driver& driver, std::uint64_t limit_bytes)
      : driver_(driver),
        openable_(driver),
        budget_(fmt::format("cuda device {}", driver.info().ordinal), limit_bytes) {}
  // All memory has been released.
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Comes first; again where it has failed.
  absl::Status Init();

  // Zero for what OrderBehind puts behind it. Out of memory where the budget has no more, or the
  // card, also after the pool has been trimmed.
  absl::StatusOr<std::byte*> Allocate(std::uint64_t bytes);
  // The same, but openable, and zero at once: waits. Takes whole granules; for a card that has
  // some.
  absl::StatusOr<std::byte*> AllocateOpenable(std::uint64_t bytes);
  // As Device's.
  std::uint64_t openable_granularity() const { return driver_.ShareableGranularity(); }
  absl::StatusOr<UniqueFd> Export(const std::byte* data) const { return openable_.Export(data); }
  // What is imported counts where it was allocated.
  absl::StatusOr<std::byte*> Import(int descriptor, std::uint64_t bytes);
  // With undefined contents, for what comes next in `stream`.
  absl::StatusOr<std::byte*> AllocateIn(StreamHandle stream, std::uint64_t bytes);
  // Gives back what AllocateIn returned, once what is earlier in the same stream is done.
  void ReleaseIn(StreamHandle stream, std::byte* data, std::uint64_t bytes);
  // The host has seen done all that used it. What is openable goes back on a thread of its own, and
  // counts against the budget until then; an allocation that finds no memory waits for that.
  void Release(std::byte* data, std::uint64_t bytes);

  // Waits for what Release gives back on a thread of its own. False where that never was anything.
  bool FinishReleases() { return releases_.Finish(); }

  // Workspace of several streams may be more than the budget has. Whether no more than that is
  // taken of the card; what is only counted, since the host has not seen yet that its work is done,
  // is not.
  bool IsWithinBudget() const;
  // To be called after an allocation of the pool. Where too much is taken, waits for what runs,
  // whose workspace goes back then.
  void KeepToBudget();

  // Of the budget; what the pool keeps unused counts as free, what others have of the card does
  // not. What is being given back counts as free. Before Init, and once the card is lost, nothing
  // is free.
  MemoryUsage Usage() const;

  MemoryBudget& budget() { return budget_; }

  // Puts what comes next in `stream` behind all that was allocated so far. `seen` is the stream's
  // own, 0 at first, and spares it what it has waited for already.
  DriverStatus OrderBehind(StreamHandle stream, std::uint64_t& seen);

 private:
  absl::Status Reserve(std::uint64_t bytes);
  // Whether more is taken of the card than the budget has.
  bool TakesTooMuch() const;
  // Has the pool give back what it does not need; waits for what runs.
  void GiveBackUnused();
  absl::Status OutOfCard(std::uint64_t bytes) const;
  absl::StatusOr<std::byte*> AllocateZeroed(std::uint64_t bytes);
  absl::StatusOr<std::byte*> AllocateZeroedOpenable(std::uint64_t bytes);
  // Waits for what gives memory back to the pool.
  DriverStatus WaitForFrees();
  // Zeroes memory, and waits for that.
  DriverStatus ZeroNow(std::byte* data, std::uint64_t bytes);

  Driver& driver_;
  OpenableMemory openable_;
  StreamHandle stream_{};
  EventHandle zeroed_{};
  // How often `zeroed_` was recorded.
  std::atomic<std::uint64_t> records_{0};
  MemoryBudget budget_;
  std::atomic<bool> initialized_{false};
  // Of `stream_`. Nobody waits with it for the card.
  Mutex mutex_;
  Mutex openable_mutex_;
  // Made when it is first needed.
  StreamHandle openable_stream_ ACCELD_GUARDED_BY(openable_mutex_){};
  mutable Mutex releasing_mutex_;
  // Of the budget, by what `releases_` has still to do.
  std::uint64_t releasing_bytes_ ACCELD_GUARDED_BY(releasing_mutex_) = 0;
  // Last, so that its destructor, which gives all back, comes first.
  BackgroundThread releases_{"acceld-cuda-mem", "release"};
};

}  // namespace acceld::cuda
