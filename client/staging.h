// Shared memory that copies pass through, in slots: each belongs to one command from before it is
// sent until it is finished.
//
// A copy takes a slot before its command is sent, so whatever a sent command needs it has, and it
// waits only for commands sent before. So slots always come back, whatever streams and events wait
// for each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "backends/core/mutex.h"

namespace acceld {

// Thread-safe.
class Staging {
 public:
  struct Slot {
    // Where it lies in the host memory.
    std::uint64_t offset = 0;
    absl::Span<std::byte> bytes;
  };

  // Cuts host memory number `host` into slots.
  Staging(std::uint64_t host, absl::Span<std::byte> memory, std::shared_ptr<const void> owner)
      : host_(host), owner_(std::move(owner)) {
    const std::size_t slot_bytes = std::max<std::size_t>(memory.size() / kSlots, 1);
    for (std::size_t offset = 0; offset + slot_bytes <= memory.size(); offset += slot_bytes) {
      free_.push_back({.offset = offset, .bytes = memory.subspan(offset, slot_bytes)});
    }
    slot_bytes_ = slot_bytes;
  }

  std::uint64_t host() const { return host_; }
  std::size_t slot_bytes() const { return slot_bytes_; }

  // A free slot, if there is one.
  std::optional<Slot> TryTake() {
    MutexLock lock(mutex_);
    if (free_.empty()) return std::nullopt;
    const Slot slot = free_.back();
    free_.pop_back();
    return slot;
  }

  void Return(const Slot& slot) {
    MutexLock lock(mutex_);
    free_.push_back(slot);
  }

 private:
  // Enough that both sides always have one to work on.
  static constexpr std::size_t kSlots = 8;

  const std::uint64_t host_;
  const std::shared_ptr<const void> owner_;
  std::size_t slot_bytes_ = 0;
  Mutex mutex_;
  // The last one returned is the warmest.
  std::vector<Slot> free_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld
