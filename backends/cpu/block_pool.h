// Blocks of memory that allocations have given back and later ones use again: the system takes far
// longer to hand out fresh pages than to fill old ones.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "backends/core/mutex.h"

namespace acceld {

// Thread-safe. Blocks are AllocateZeroed's (zeroed_memory.h).
class BlockPool {
 public:
  // Smaller blocks are left to the C library, which keeps them as well.
  static constexpr std::uint64_t kMinBlockBytes = 64 * 1024;

  // What the block of an allocation takes: `bytes` rounded up so that sizes that differ little
  // share a block, by at most a sixteenth. `bytes` is at most 2^62.
  static std::uint64_t BlockBytes(std::uint64_t bytes);

  // Holds up to `max_bytes` bytes.
  explicit BlockPool(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}
  ~BlockPool() { Shrink(0); }
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // The block of that size that was put last, with what it holds; null where there is none.
  std::byte* Take(std::uint64_t block_bytes);

  // Takes a block over. The oldest ones go back to the system to make room, or this one where it is
  // small or larger than the pool.
  void Put(std::byte* data, std::uint64_t block_bytes);

  // Gives back the oldest blocks until at most `bytes` are held.
  void Shrink(std::uint64_t bytes);

  std::uint64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }

 private:
  using Blocks = std::vector<std::pair<std::byte*, std::uint64_t>>;

  // Takes out the oldest blocks until at most `bytes` are held; they are to be freed unlocked.
  Blocks TakeOldest(std::uint64_t bytes) ACCELD_REQUIRES(mutex_);

  const std::uint64_t max_bytes_;
  Mutex mutex_;
  // Written with the lock, read without.
  std::atomic<std::uint64_t> held_bytes_{0};
  std::uint64_t next_age_ ACCELD_GUARDED_BY(mutex_) = 0;
  // Both have every block: by size and age, and by age with its size.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::byte*> by_size_ ACCELD_GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::uint64_t> by_age_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld
