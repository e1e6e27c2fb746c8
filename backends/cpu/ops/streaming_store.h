// Outputs written past the caches by loops that compute them. Faster than plain stores where the
// output is too large for the caches: its lines are not read first, and what the caches hold stays.
// In place they are slower, since the line is in the cache already.
//
// Such a loop computes a block of kStreamedBlock elements into an array of its own and passes it to
// StreamBlock, in the same loop: then the stores of one block overlap the computation of the next.
// At its end it calls FinishStreaming.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backends/cpu/multiversion.h"

// The sanitizers see no streaming stores.
#if defined(__SSE2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <xmmintrin.h>
#define ACCELD_STREAMING_STORES 1
#else
#define ACCELD_STREAMING_STORES 0
#endif

namespace acceld::cpu {

// Four lines.
inline constexpr std::int64_t kStreamedBlock = 64;

// Whether an output of `count` elements that is none of the inputs is written past the caches:
// where it does not fit into them together with an input. The values are the same either way.
constexpr bool IsStreamed(std::int64_t count) { return count >= 4 * 1024 * 1024; }

// How many of the `n` elements from `output` on come before the first line that begins in them.
ACCELD_INLINE std::int64_t ElementsToLine(const float* output, std::int64_t n) {
  return std::min<std::int64_t>(-(reinterpret_cast<std::uintptr_t>(output) / sizeof(float)) % 16,
                                n);
}

// Copies a block, of whole lines, to the beginning of a line.
template <std::int64_t kCount = kStreamedBlock>
ACCELD_INLINE void StreamBlock(const float* block, float* output) {
#if ACCELD_STREAMING_STORES
  for (std::int64_t i = 0; i < kCount; i += 4) {
    _mm_stream_ps(output + i, _mm_loadu_ps(block + i));
  }
#else
  std::memcpy(output, block, kCount * sizeof(float));
#endif
}

// Streaming stores may become visible after later ordinary ones, such as that of a lock.
ACCELD_INLINE void FinishStreaming() {
#if ACCELD_STREAMING_STORES
  _mm_sfence();
#endif
}

}  // namespace acceld::cpu
