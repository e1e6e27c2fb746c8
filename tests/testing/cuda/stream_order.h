// Which work of a fake card is ordered behind which, by vector clocks: order comes about by a
// stream, by an event that another stream waits for, and by a host that has seen work done.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "backends/cuda/driver.h"

namespace acceld {

// How much of each stream is before a point.
using StreamClock = std::map<cuda::StreamHandle, std::uint64_t>;

void Merge(StreamClock& clock, const StreamClock& other);

// What work does with a part of one piece of memory.
struct MemoryAccess {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool writes = false;
  // Part of what makes the memory: races of clients aside, everything is behind it.
  bool makes = false;
  // Where it is in its stream.
  cuda::StreamHandle stream{};
  std::uint64_t time = 0;
};

// The accesses to one piece of memory.
class AccessOrder {
 public:
  // Adds an access whose work is behind `clock`, of a host that has seen `seen` done. What is wrong
  // with it; empty where nothing is. With `races`, only an order behind what makes the memory is
  // asked for.
  std::string_view Add(const MemoryAccess& access, const StreamClock& clock,
                       const StreamClock& seen, bool races);

  // The stream has ended: all its accesses are done.
  void Forget(cuda::StreamHandle stream);

  // Whether every access is before `clock`.
  bool AllBefore(const StreamClock& clock) const;

 private:
  std::vector<MemoryAccess> accesses_;
};

}  // namespace acceld
