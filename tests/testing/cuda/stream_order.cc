#include "tests/testing/cuda/stream_order.h"

#include <algorithm>

namespace acceld {
namespace {

bool Before(const MemoryAccess& access, const StreamClock& clock) {
  const auto found = clock.find(access.stream);
  return found != clock.end() && access.time <= found->second;
}

}  // namespace

void Merge(StreamClock& clock, const StreamClock& other) {
  for (const auto& [stream, time] : other) clock[stream] = std::max(clock[stream], time);
}

std::string_view AccessOrder::Add(const MemoryAccess& access, const StreamClock& clock,
                                  const StreamClock& seen, bool races) {
  std::erase_if(accesses_, [&seen](const MemoryAccess& earlier) { return Before(earlier, seen); });
  std::string_view problem;
  for (const MemoryAccess& earlier : accesses_) {
    const bool overlaps = earlier.begin < access.end && access.begin < earlier.end;
    if (!overlaps || Before(earlier, clock) || (!earlier.writes && !access.writes)) continue;
    if (races && !earlier.makes) continue;
    problem = access.writes ? "is written by a stream that is not ordered behind its last use"
                            : "is read by a stream that is not ordered behind its last write";
  }
  accesses_.push_back(access);
  return problem;
}

void AccessOrder::Forget(cuda::StreamHandle stream) {
  std::erase_if(accesses_,
                [stream](const MemoryAccess& access) { return access.stream == stream; });
}

bool AccessOrder::AllBefore(const StreamClock& clock) const {
  return std::all_of(accesses_.begin(), accesses_.end(),
                     [&clock](const MemoryAccess& access) { return Before(access, clock); });
}

}  // namespace acceld
