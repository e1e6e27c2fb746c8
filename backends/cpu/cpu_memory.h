// The memory of a CPU device: the host's, counted against a budget, kept warm between uses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "backends/core/mutex.h"
#include "backends/cpu/block_pool.h"
#include "backends/cpu/unzeroed_memory.h"
#include "backends/device.h"
#include "backends/memory/memory_budget.h"
#include "backends/memory/sealed_memory.h"

namespace acceld {

// Thread-safe. What is held warm is not counted as used, and goes back to the system where used and
// warm memory together would exceed the budget.
class CpuMemory {
 public:
  explicit CpuMemory(std::uint64_t limit_bytes);

  // As Device's, but that what was used before may not be zero yet: `unzeroed` says so. The blocks
  // of mappable memory are never used again: whoever mapped one may still see it.
  absl::StatusOr<std::byte*> Allocate(std::uint64_t bytes, const MemoryOptions& options);
  void Release(std::byte* data, std::uint64_t bytes);
  absl::StatusOr<int> MappableFile(const std::byte* data) const;

  // What is held to be used again.
  std::uint64_t warm_bytes() const { return pool_.held_bytes(); }

  UnzeroedMemory& unzeroed() { return unzeroed_; }

  // For workspace, too.
  MemoryBudget& budget() { return budget_; }
  const MemoryBudget& budget() const { return budget_; }

 private:
  absl::StatusOr<std::byte*> AllocateMappable(std::uint64_t bytes);
  // Whether `data` was mappable, and is released now.
  bool ReleaseMappable(const std::byte* data, std::uint64_t bytes);

  UnzeroedMemory unzeroed_;
  BlockPool pool_;
  MemoryBudget budget_;
  // By first byte. Each has a descriptor of its own.
  mutable Mutex mutex_;
  absl::flat_hash_map<const std::byte*, SealedMemory> mappable_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld
