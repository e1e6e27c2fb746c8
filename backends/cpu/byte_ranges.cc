#include "backends/cpu/byte_ranges.h"

#include <cstring>

#include "backends/cpu/parallel.h"
#include "backends/memory/streaming_copy.h"

namespace acceld {
namespace {

// Less is not worth a thread.
constexpr std::int64_t kBytesPerThread = 1024 * 1024;

// Blocks from here on do not fit into a core's cache, whatever uses them next.
constexpr std::uint64_t kZeroedPastCachesFromBytes = 1024 * 1024;

}  // namespace

void CopyBytes(std::byte* target, const std::byte* source, std::uint64_t bytes, int threads) {
  ParallelFor(threads, static_cast<std::int64_t>(bytes), kBytesPerThread,
              [=](std::int64_t begin, std::int64_t end) {
                std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
              });
}

void StreamBytes(std::byte* target, const std::byte* source, std::uint64_t bytes, int threads) {
  ParallelFor(threads, static_cast<std::int64_t>(bytes), kBytesPerThread,
              [=](std::int64_t begin, std::int64_t end) {
                StreamingCopy(target + begin, source + begin,
                              static_cast<std::uint64_t>(end - begin));
              });
}

void ZeroBytes(std::byte* target, std::uint64_t bytes, int threads) {
  if (bytes < kZeroedPastCachesFromBytes) {
    std::memset(target, 0, bytes);
    return;
  }
  ParallelFor(threads, static_cast<std::int64_t>(bytes), kBytesPerThread,
              [=](std::int64_t begin, std::int64_t end) {
                StreamingZero(target + begin, static_cast<std::uint64_t>(end - begin));
              });
}

void FillBytes(std::byte* target, std::uint8_t value, std::uint64_t bytes, int threads) {
  ParallelFor(threads, static_cast<std::int64_t>(bytes), kBytesPerThread,
              [=](std::int64_t begin, std::int64_t end) {
                std::memset(target + begin, value, static_cast<std::size_t>(end - begin));
              });
}

}  // namespace acceld
