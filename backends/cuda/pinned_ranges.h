// Which host memory is pinned, so that copies need not stage it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "backends/core/mutex.h"

namespace acceld::cuda {

// Thread-safe.
class PinnedRanges {
 public:
  // Ranges do not overlap.
  void Add(const std::byte* data, std::uint64_t bytes);
  // `data` is the start of a range.
  void Remove(const std::byte* data);

  // Whether all of [data, data + bytes) lies in one range.
  bool Contains(const std::byte* data, std::uint64_t bytes) const;

 private:
  mutable Mutex mutex_;
  // Start to size.
  std::map<std::uintptr_t, std::uint64_t> ranges_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld::cuda
