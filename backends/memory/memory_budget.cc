#include "backends/memory/memory_budget.h"

#include <fmt/format.h>

#include "backends/core/status.h"
#include "backends/memory/alignment.h"

namespace acceld {

bool MemoryBudget::Fits(std::uint64_t bytes, std::uint64_t reserved) const {
  // In two steps, so that rounding and adding cannot overflow.
  return bytes <= limit_bytes_ && RoundUpToAlignment(bytes) <= limit_bytes_ - reserved;
}

absl::Status MemoryBudget::Exceeded(std::uint64_t bytes, std::uint64_t reserved) const {
  return OutOfMemory(fmt::format("{} has no {} bytes left: {} of its limit of {} bytes are in use.",
                                 owner_, bytes, reserved, limit_bytes_));
}

absl::Status MemoryBudget::Reserve(std::uint64_t bytes) {
  std::uint64_t reserved = reserved_bytes_.load(std::memory_order_relaxed);
  do {
    if (!Fits(bytes, reserved)) return Exceeded(bytes, reserved);
  } while (!reserved_bytes_.compare_exchange_weak(reserved, reserved + RoundUpToAlignment(bytes),
                                                  std::memory_order_relaxed));
  if (make_room_) make_room_(limit_bytes_ - reserved - RoundUpToAlignment(bytes));
  return absl::OkStatus();
}

void MemoryBudget::Release(std::uint64_t bytes) {
  reserved_bytes_.fetch_sub(RoundUpToAlignment(bytes), std::memory_order_relaxed);
}

absl::Status MemoryBudget::CheckWorkspace(std::uint64_t bytes) const {
  const std::uint64_t reserved = reserved_bytes_.load(std::memory_order_relaxed);
  return Fits(bytes, reserved) ? absl::OkStatus() : Exceeded(bytes, reserved);
}

void MemoryBudget::AddWorkspace(std::uint64_t bytes) {
  workspace_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void MemoryBudget::RemoveWorkspace(std::uint64_t bytes) {
  workspace_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

std::uint64_t MemoryBudget::used_bytes() const {
  return reserved_bytes_.load(std::memory_order_relaxed) +
         workspace_bytes_.load(std::memory_order_relaxed);
}

}  // namespace acceld
