#include "backends/memory/streaming_copy.h"

#include <algorithm>
#include <cstring>

// The sanitizers see no streaming stores, so they get plain ones. SSE2 is as fast as wider
// registers here: the memory is the limit.
#if defined(__SSE2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <emmintrin.h>
#define ACCELD_STREAMING_STORES 1
#else
#define ACCELD_STREAMING_STORES 0
#endif

namespace acceld {

#if ACCELD_STREAMING_STORES

namespace {

// Lines are written whole, or their rest would have to be read first.
constexpr std::uint64_t kLineBytes = 64;
constexpr std::uint64_t kVectorBytes = sizeof(__m128i);
constexpr std::uint64_t kVectors = kLineBytes / kVectorBytes;

// How far `target` is from the start of the next line, but not beyond `bytes`.
std::uint64_t BytesToLine(const std::byte* target, std::uint64_t bytes) {
  return std::min(-reinterpret_cast<std::uintptr_t>(target) % kLineBytes, bytes);
}

}  // namespace

void StreamingCopy(std::byte* target, const std::byte* source, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t head = BytesToLine(target, bytes);
  std::memcpy(target, source, head);
  const std::uint64_t body_end = bytes - (bytes - head) % kLineBytes;
  for (std::uint64_t i = head; i < body_end; i += kLineBytes) {
    const auto* from = reinterpret_cast<const __m128i*>(source + i);
    auto* to = reinterpret_cast<__m128i*>(target + i);
    __m128i line[kVectors];
    for (std::uint64_t v = 0; v < kVectors; ++v) line[v] = _mm_loadu_si128(from + v);
    for (std::uint64_t v = 0; v < kVectors; ++v) _mm_stream_si128(to + v, line[v]);
  }
  std::memcpy(target + body_end, source + body_end, bytes - body_end);
  // Streaming stores may become visible after later ordinary ones, such as that of a lock.
  _mm_sfence();
}

void StreamingZero(std::byte* target, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t head = BytesToLine(target, bytes);
  std::memset(target, 0, head);
  const std::uint64_t body_end = bytes - (bytes - head) % kLineBytes;
  for (std::uint64_t i = head; i < body_end; i += kVectorBytes) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(target + i), _mm_setzero_si128());
  }
  std::memset(target + body_end, 0, bytes - body_end);
  _mm_sfence();
}

#else

void StreamingCopy(std::byte* target, const std::byte* source, std::uint64_t bytes) {
  if (bytes > 0) std::memcpy(target, source, bytes);
}

void StreamingZero(std::byte* target, std::uint64_t bytes) {
  if (bytes > 0) std::memset(target, 0, bytes);
}

#endif

}  // namespace acceld
