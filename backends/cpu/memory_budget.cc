#include "backends/cpu/memory_budget.h"

#include <fmt/format.h>

#include "backends/core/status.h"
#include "backends/cpu/zeroed_memory.h"

namespace acceld {

absl::Status MemoryBudget::Reserve(std::uint64_t bytes) {
  std::uint64_t used = used_bytes();
  do {
    // In two steps, so that rounding and adding cannot overflow.
    if (bytes > limit_bytes_ || RoundUpToAlignment(bytes) > limit_bytes_ - used) {
      return OutOfMemory(fmt::format(
          "The cpu device has no {} bytes left: {} of its limit of {} bytes are in use.", bytes,
          used, limit_bytes_));
    }
  } while (!used_bytes_.compare_exchange_weak(used, used + RoundUpToAlignment(bytes),
                                              std::memory_order_relaxed));
  if (make_room_) make_room_(limit_bytes_ - used - RoundUpToAlignment(bytes));
  return absl::OkStatus();
}

void MemoryBudget::Release(std::uint64_t bytes) {
  used_bytes_.fetch_sub(RoundUpToAlignment(bytes), std::memory_order_relaxed);
}

}  // namespace acceld
