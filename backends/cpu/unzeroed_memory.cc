#include "backends/cpu/unzeroed_memory.h"

#include <algorithm>
#include <iterator>

#include "backends/cpu/byte_ranges.h"

namespace acceld {
namespace {

// Whether `part` is all, or an end, of `whole`, which it overlaps.
template <typename Range>
bool ReachesAnEnd(const Range& part, const Range& whole) {
  return part.begin <= whole.begin || part.end >= whole.end;
}

}  // namespace

void UnzeroedMemory::Add(std::byte* data, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  MutexLock lock(mutex_);
  allocations_.emplace(begin, Range{begin, begin + bytes});
  count_.store(allocations_.size(), std::memory_order_relaxed);
}

void UnzeroedMemory::Remove(const std::byte* data) {
  if (empty()) return;
  MutexLock lock(mutex_);
  allocations_.erase(reinterpret_cast<std::uintptr_t>(data));
  count_.store(allocations_.size(), std::memory_order_relaxed);
}

template <typename Visit>
void UnzeroedMemory::ForEachUse(const Work& work, const Visit& visit) {
  const auto use = [&visit](std::uintptr_t begin, std::uint64_t bytes, bool overwrites) {
    if (bytes > 0) visit(Use{{begin, begin + bytes}, overwrites});
  };
  if (const auto* op = std::get_if<Op>(&work)) {
    // Operands are stated with pointers to the op's address fields, so that they can be replaced;
    // here they are only read.
    for (const Operand& operand : OperandsOf(const_cast<Op&>(*op))) {
      use(*operand.address, static_cast<std::uint64_t>(operand.ExtentBytes()),
          operand.access == Access::kWrite && operand.Dense());
    }
  } else if (const auto* copy = std::get_if<HostToDevice>(&work)) {
    use(reinterpret_cast<std::uintptr_t>(copy->target), copy->bytes, /*overwrites=*/true);
  } else if (const auto* copy = std::get_if<DeviceToHost>(&work)) {
    use(reinterpret_cast<std::uintptr_t>(copy->source), copy->bytes, /*overwrites=*/false);
  }
}

UnzeroedMemory::Allocations::iterator UnzeroedMemory::Find(Range used) {
  // What is used lies in one allocation.
  const auto after = allocations_.upper_bound(used.begin);
  if (after == allocations_.begin()) return allocations_.end();
  const auto found = std::prev(after);
  const Range& unzeroed = found->second;
  const bool touched = used.begin < unzeroed.end && unzeroed.begin < used.end;
  return touched ? found : allocations_.end();
}

bool UnzeroedMemory::MustZeroFor(const Work& work) {
  bool must = false;
  ForEachUse(work, [&](const Use& use) {
    MutexLock lock(mutex_);
    const auto found = Find(use.range);
    if (found == allocations_.end()) return;
    must |= !use.overwrites || !ReachesAnEnd(use.range, found->second);
  });
  return must;
}

bool UnzeroedMemory::Prepare(const Work& work, int threads) {
  bool overwrites = false;
  ForEachUse(work, [&](const Use& use) {
    Range zeroed;
    {
      MutexLock lock(mutex_);
      const auto found = Find(use.range);
      if (found == allocations_.end()) return;
      zeroed = found->second;
      if (use.overwrites && ReachesAnEnd(use.range, zeroed)) {
        overwrites = true;
        return;
      }
      allocations_.erase(found);
      count_.store(allocations_.size(), std::memory_order_relaxed);
    }
    ZeroBytes(reinterpret_cast<std::byte*>(zeroed.begin), zeroed.end - zeroed.begin, threads);
  });
  return overwrites;
}

void UnzeroedMemory::Overwritten(const Work& work) {
  ForEachUse(work, [&](const Use& use) {
    if (!use.overwrites) return;
    MutexLock lock(mutex_);
    const auto found = Find(use.range);
    if (found == allocations_.end()) return;
    Range& unzeroed = found->second;
    if (use.range.begin <= unzeroed.begin) {
      unzeroed.begin = std::min(use.range.end, unzeroed.end);
    } else if (use.range.end >= unzeroed.end) {
      unzeroed.end = use.range.begin;
    }
    if (unzeroed.begin < unzeroed.end) return;
    allocations_.erase(found);
    count_.store(allocations_.size(), std::memory_order_relaxed);
  });
}

}  // namespace acceld
