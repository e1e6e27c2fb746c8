#include "backends/cuda/pinned_pool.h"

#include <algorithm>
#include <bit>

namespace acceld::cuda {
namespace {

// A page: smaller blocks cost the system as much.
constexpr std::uint64_t kMinBlockBytes = 4096;

}  // namespace

PinnedPool::~PinnedPool() {
  for (auto& [bytes, blocks] : free_) {
    for (std::byte* block : blocks) (void)driver_.FreeHost(block);
  }
}

DriverResult<std::byte*> PinnedPool::Take(std::uint64_t bytes) {
  const std::uint64_t size = std::bit_ceil(std::max(bytes, kMinBlockBytes));
  {
    MutexLock lock(mutex_);
    if (std::vector<std::byte*>& blocks = free_[size]; !blocks.empty()) {
      std::byte* const block = blocks.back();
      blocks.pop_back();
      kept_bytes_ -= size;
      taken_.emplace(block, size);
      return {.value = block};
    }
  }
  DriverResult<std::byte*> block = driver_.AllocateHost(size);
  // What is being unpinned may be what is missing.
  if (block.status.code == DriverCode::kOutOfMemory && releases_.Finish()) {
    block = driver_.AllocateHost(size);
  }
  if (block.ok()) {
    MutexLock lock(mutex_);
    taken_.emplace(block.value, size);
  }
  return block;
}

void PinnedPool::GiveBack(std::byte* block) {
  {
    MutexLock lock(mutex_);
    const auto found = taken_.find(block);
    const std::uint64_t size = found->second;
    taken_.erase(found);
    if (kept_bytes_ + size <= kMaxKeptBytes) {
      kept_bytes_ += size;
      free_[size].push_back(block);
      return;
    }
  }
  const auto unpin = [this, block] { (void)driver_.FreeHost(block); };
  if (releases_.Start().ok()) return releases_.Add(unpin);
  unpin();
}

}  // namespace acceld::cuda
