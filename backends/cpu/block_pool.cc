#include "backends/cpu/block_pool.h"

#include <iterator>
#include <limits>

#include "backends/cpu/zeroed_memory.h"
#include "backends/memory/alignment.h"

namespace acceld {
namespace {

void Free(const std::vector<std::pair<std::byte*, std::uint64_t>>& blocks) {
  for (const auto& [data, bytes] : blocks) FreeZeroed(data, bytes);
}

}  // namespace

std::uint64_t BlockPool::BlockBytes(std::uint64_t bytes) {
  if (bytes < kMinBlockBytes) return RoundUpToAlignment(bytes);
  std::uint64_t power = kMinBlockBytes;
  while (power <= bytes / 2) power *= 2;
  const std::uint64_t step = power / 16;
  return (bytes + step - 1) / step * step;
}

std::byte* BlockPool::Take(std::uint64_t block_bytes) {
  if (held_bytes() < block_bytes) return nullptr;
  MutexLock lock(mutex_);
  const auto after = by_size_.upper_bound({block_bytes, std::numeric_limits<std::uint64_t>::max()});
  if (after == by_size_.begin()) return nullptr;
  const auto found = std::prev(after);
  if (found->first.first != block_bytes) return nullptr;
  std::byte* const data = found->second;
  by_age_.erase(found->first.second);
  by_size_.erase(found);
  held_bytes_ -= block_bytes;
  return data;
}

void BlockPool::Put(std::byte* data, std::uint64_t block_bytes) {
  if (block_bytes < kMinBlockBytes || block_bytes > max_bytes_) {
    return FreeZeroed(data, block_bytes);
  }
  Blocks oldest;
  {
    MutexLock lock(mutex_);
    oldest = TakeOldest(max_bytes_ - block_bytes);
    by_size_.emplace(std::pair(block_bytes, next_age_), data);
    by_age_.emplace(next_age_, block_bytes);
    ++next_age_;
    held_bytes_ += block_bytes;
  }
  Free(oldest);
}

void BlockPool::Shrink(std::uint64_t bytes) {
  if (held_bytes() <= bytes) return;
  Blocks oldest;
  {
    MutexLock lock(mutex_);
    oldest = TakeOldest(bytes);
  }
  Free(oldest);
}

BlockPool::Blocks BlockPool::TakeOldest(std::uint64_t bytes) {
  Blocks oldest;
  while (held_bytes() > bytes) {
    const auto [age, block_bytes] = *by_age_.begin();
    const auto found = by_size_.find({block_bytes, age});
    oldest.emplace_back(found->second, block_bytes);
    by_size_.erase(found);
    by_age_.erase(by_age_.begin());
    held_bytes_ -= block_bytes;
  }
  return oldest;
}

}  // namespace acceld
