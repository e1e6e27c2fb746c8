#include "backends/cuda/pinned_ranges.h"

#include <iterator>

namespace acceld::cuda {

void PinnedRanges::Add(const std::byte* data, std::uint64_t bytes) {
  MutexLock lock(mutex_);
  ranges_[reinterpret_cast<std::uintptr_t>(data)] = bytes;
}

void PinnedRanges::Remove(const std::byte* data) {
  MutexLock lock(mutex_);
  ranges_.erase(reinterpret_cast<std::uintptr_t>(data));
}

bool PinnedRanges::Contains(const std::byte* data, std::uint64_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  MutexLock lock(mutex_);
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return false;
  const auto& [start, size] = *std::prev(after);
  const std::uint64_t offset = address - start;
  return offset <= size && bytes <= size - offset;
}

}  // namespace acceld::cuda
