// Pinned host memory in blocks that are used again: to pin memory takes as long as to copy
// megabytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/core/mutex.h"
#include "backends/cuda/background_thread.h"
#include "backends/cuda/driver.h"

namespace acceld::cuda {

// Thread-safe.
class PinnedPool {
 public:
  // Blocks that nobody uses are kept up to so many bytes in all.
  static constexpr std::uint64_t kMaxKeptBytes = 64 * 1024 * 1024;

  // `driver` outlives the pool.
  explicit PinnedPool(Driver& driver) : driver_(driver) {}
  // Every block has been given back.
  ~PinnedPool();
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  // A block of at least `bytes` bytes with undefined contents. Waits for what is being unpinned
  // where the host has no more.
  DriverResult<std::byte*> Take(std::uint64_t bytes);
  // Does not wait for the driver: what is not kept is unpinned on a thread of its own.
  void GiveBack(std::byte* block);

 private:
  Driver& driver_;
  Mutex mutex_;
  // What is in use, with its size.
  absl::flat_hash_map<std::byte*, std::uint64_t> taken_ ACCELD_GUARDED_BY(mutex_);
  // Unused blocks by their size, a power of two.
  absl::flat_hash_map<std::uint64_t, std::vector<std::byte*>> free_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t kept_bytes_ ACCELD_GUARDED_BY(mutex_) = 0;
  // Started when it is first needed. Last, so that its destructor, which unpins all, comes first.
  BackgroundThread releases_{"acceld-cuda-mem", "release"};
};

}  // namespace acceld::cuda
