// The memory a CPU device may use: a count, since the host's memory has no edge of its own that is
// safe to reach.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/status/status.h"

namespace acceld {

// Thread-safe.
class MemoryBudget {
 public:
  // A limit beyond 2^62 counts as 2^62, so that sizes within it can be rounded up. `make_room` is
  // called after each reservation with the bytes that are left: what is kept beside the budget may
  // not take more.
  explicit MemoryBudget(std::uint64_t limit_bytes,
                        std::function<void(std::uint64_t left_bytes)> make_room = nullptr)
      : limit_bytes_(std::min(limit_bytes, std::uint64_t{1} << 62)),
        make_room_(std::move(make_room)) {}

  // Counts `bytes`, rounded up to what an allocation takes. Out of memory, and nothing counted,
  // where that exceeds the limit; a smaller request may then still succeed.
  absl::Status Reserve(std::uint64_t bytes);
  // Takes back a reservation of `bytes`.
  void Release(std::uint64_t bytes);

  std::uint64_t limit_bytes() const { return limit_bytes_; }
  std::uint64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }

 private:
  const std::uint64_t limit_bytes_;
  const std::function<void(std::uint64_t left_bytes)> make_room_;
  std::atomic<std::uint64_t> used_bytes_{0};
};

}  // namespace acceld
