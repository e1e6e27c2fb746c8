// Memory that is to read as zero but still holds what its former owner left there. It is zeroed
// before the first work that could see that, and not at all where the first work overwrites it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>

#include "backends/core/mutex.h"
#include "backends/device.h"

namespace acceld {

// Thread-safe, but that one thread at a time calls Prepare and Overwritten, for the piece of work
// that runs.
class UnzeroedMemory {
 public:
  // An allocation all of which is to be zeroed.
  void Add(std::byte* data, std::uint64_t bytes);
  // An allocation that goes; nothing where it is not here.
  void Remove(const std::byte* data);

  // Whether there is none, which is all that most work asks.
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }

  // Whether Prepare would have to zero something.
  bool MustZeroFor(const Work& work);

  // Zeroes, on up to `threads` threads, what `work` uses, unless `work` writes all of it, or its
  // first or its last part, as one of several copies into it does, and reads none. Then it returns
  // true, and Overwritten is to follow.
  bool Prepare(const Work& work, int threads);

  // `work` has been done, all of it, so what it has written need not be zeroed any more.
  void Overwritten(const Work& work);

 private:
  // Bytes by their addresses, end exclusive.
  struct Range {
    std::uintptr_t begin;
    std::uintptr_t end;
  };
  // What a piece of work does to a range.
  struct Use {
    Range range;
    // Writes every byte and reads none.
    bool overwrites;
  };
  // What is unzeroed, by the first byte of its allocation.
  using Allocations = std::map<std::uintptr_t, Range>;

  // Calls visit(use) for what `work` uses.
  template <typename Visit>
  static void ForEachUse(const Work& work, const Visit& visit);

  // The allocation whose unzeroed bytes are used; end() where there is none.
  Allocations::iterator Find(Range used) ACCELD_REQUIRES(mutex_);

  std::atomic<std::size_t> count_{0};
  Mutex mutex_;
  Allocations allocations_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld
