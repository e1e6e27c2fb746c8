// Memory of a card that other processes can open: each allocation is the driver's own, mapped at
// addresses of its own, and goes back to the card when it is released.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/core/mutex.h"
#include "backends/core/unique_fd.h"
#include "backends/cuda/driver.h"

namespace acceld::cuda {

// Thread-safe. For a card whose granularity is not 0.
class OpenableMemory {
 public:
  struct Block {
    std::byte* data = nullptr;
    // None where it was imported.
    MemoryHandle memory{};
    std::uint64_t bytes = 0;

    // Of the card; what was imported takes none here.
    std::uint64_t taken_bytes() const { return memory == MemoryHandle{} ? 0 : bytes; }
  };

  // `driver` outlives it.
  explicit OpenableMemory(Driver& driver) : driver_(driver) {}

  // `bytes`, at most what the card has, in whole granules.
  std::uint64_t RoundUp(std::uint64_t bytes) const;

  // RoundUp(bytes) bytes with undefined contents.
  DriverResult<std::byte*> Allocate(std::uint64_t bytes);
  // A new descriptor of what Allocate returned. Unsupported for other memory.
  absl::StatusOr<UniqueFd> Export(const std::byte* data) const;
  // RoundUp(bytes) bytes of what `descriptor` is of. Invalid argument where that is nothing of this
  // card's, or has fewer.
  absl::StatusOr<std::byte*> Import(int descriptor, std::uint64_t bytes);
  // Takes out what Allocate or Import returned, which is mapped still. Nothing where `data` is
  // neither.
  std::optional<Block> Take(std::byte* data);
  // Gives back what was taken out; may wait for the card. The host has seen done all that used it.
  void Release(const Block& block);

  // The card's memory, and what was allocated here and is not the card's again: of one moment,
  // unless that changes over and over or one change takes long.
  struct Usage {
    CardMemory card{};
    std::uint64_t allocated_bytes = 0;
  };
  DriverResult<Usage> Measure() const;

 private:
  // Memory of the card that is counted.
  DriverResult<MemoryHandle> Take(std::uint64_t bytes);
  void GiveBack(MemoryHandle memory, std::uint64_t bytes);
  // What a mapping came to, and which call decided that.
  struct Mapped {
    DriverResult<std::byte*> data;
    bool does_not_fit = false;
  };
  // Maps memory at new addresses.
  Mapped Map(MemoryHandle memory, std::uint64_t bytes);
  absl::Status Refusal(int descriptor, std::uint64_t bytes, const DriverStatus& why) const;

  Driver& driver_;
  std::atomic<std::uint64_t> allocated_bytes_{0};
  // How often that and the card's memory were about to change, and had changed.
  std::atomic<std::uint64_t> changes_begun_{0};
  std::atomic<std::uint64_t> changes_ended_{0};
  mutable Mutex mutex_;
  absl::flat_hash_map<const std::byte*, Block> blocks_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld::cuda
