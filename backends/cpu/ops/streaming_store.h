// Outputs written past the caches by loops that compute them. Faster than plain stores where the
// output is too large for the caches: its lines are not read first, and what the caches hold stays.
// In place they are slower, since the line is in the cache already.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backends/cpu/multiversion.h"

// The sanitizers see no streaming stores.
#if defined(__SSE2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <immintrin.h>
#define ACCELD_STREAMING_STORES 1
#else
#define ACCELD_STREAMING_STORES 0
#endif

namespace acceld::cpu {

// Elements of a line.
inline constexpr std::int64_t kLine = 16;
// What loops over a fixed number of elements take: a loop over fewer is unrolled before it could be
// vectorized.
inline constexpr std::int64_t kBlock = 2 * kLine;

// Whether an output of `count` elements that is none of the inputs is written past the caches:
// where it does not fit into them together with an input, and what else they hold. The values are
// the same either way.
constexpr bool IsStreamed(std::int64_t count) { return count >= 3 * 1024 * 1024; }

// How many of the `n` elements from `output` on come before the first line that begins in them.
ACCELD_INLINE std::int64_t ElementsToLine(const float* output, std::int64_t n) {
  return std::min<std::int64_t>(-(reinterpret_cast<std::uintptr_t>(output) / sizeof(float)) % kLine,
                                n);
}

// Streaming stores may become visible after later ordinary ones, such as that of a lock.
ACCELD_INLINE void FinishStreaming() {
#if ACCELD_STREAMING_STORES
  _mm_sfence();
#endif
}

// Fetches a line into the second-level cache, which takes more requests at once than the first.
ACCELD_INLINE void FetchLine(const float* element) {
  __builtin_prefetch(element, /*rw=*/0, /*locality=*/2);
}

// Fetches what a loop will read next of a long input that it reads from beginning to end: farther
// ahead than the processor does, which stops at the end of each page.
ACCELD_INLINE void FetchAhead(const float* input) {
  constexpr std::int64_t kAhead = 2048;
  if (ACCELD_RUNS_ON_AMD) {
    // Reads from the second-level cache do not make these processors look ahead: Zen 4 then takes a
    // third longer.
    __builtin_prefetch(input + kAhead, /*rw=*/0, /*locality=*/3);
  } else {
    FetchLine(input + kAhead);
  }
}

// The versions of StreamBlocks, which differ in how much of a line they store at once.
template <typename Block>
Block StreamBlocksPlainly(float* y, std::int64_t begin, std::int64_t end, Block block) {
  for (std::int64_t i = begin; i < end; i += kBlock) {
    alignas(64) float values[kBlock];
    block(i, values);
#if ACCELD_STREAMING_STORES
    for (std::int64_t j = 0; j < kBlock; j += 4) {
      _mm_stream_ps(y + i + j, _mm_load_ps(values + j));
    }
#else
    std::memcpy(y + i, values, sizeof values);
#endif
  }
  return block;
}

#if ACCELD_VERSIONS
template <typename Block>
ACCELD_V3 Block StreamBlocksForV3(float* y, std::int64_t begin, std::int64_t end, Block block) {
  for (std::int64_t i = begin; i < end; i += kBlock) {
    alignas(64) float values[kBlock];
    block(i, values);
    for (std::int64_t j = 0; j < kBlock; j += 8) {
      _mm256_stream_ps(y + i + j, _mm256_load_ps(values + j));
    }
  }
  return block;
}

template <typename Block>
ACCELD_V4 Block StreamBlocksForV4(float* y, std::int64_t begin, std::int64_t end, Block block) {
  for (std::int64_t i = begin; i < end; i += kBlock) {
    alignas(64) float values[kBlock];
    block(i, values);
    for (std::int64_t j = 0; j < kBlock; j += 16) {
      _mm512_stream_ps(y + i + j, _mm512_load_ps(values + j));
    }
  }
  return block;
}
#endif

// For each i from `begin` to `end` in steps of kBlock, block(i, values) computes as many values,
// which are written to y + i, where a line begins, past the caches; the caller calls
// FinishStreaming. The stores of one block overlap the computation of the next. `block`, whose call
// is inlined (ACCELD_INLINE), is copied, and returned as it has become.
template <typename Block>
Block StreamBlocks(float* y, std::int64_t begin, std::int64_t end, Block block) {
#if ACCELD_VERSIONS
  if (ACCELD_RUNS_V4) return StreamBlocksForV4(y, begin, end, block);
  if (ACCELD_RUNS_V3) return StreamBlocksForV3(y, begin, end, block);
#endif
  return StreamBlocksPlainly(y, begin, end, block);
}

// y[i] = element(i) for `begin` <= i < `end`; the call is inlined (ACCELD_INLINE). y may be exactly
// one of the inputs.
template <typename Element>
ACCELD_MULTIVERSION void WritePlainly(float* y, std::int64_t begin, std::int64_t end,
                                      Element element) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = begin; i < end; ++i) y[i] = element(i);
}

// The same for `n` elements, past the caches where `streamed`; the caller calls FinishStreaming.
// Where they are, fetch(i) is called before the line of elements at i is computed.
template <typename Element, typename Fetch>
void WriteElements(float* y, std::int64_t n, bool streamed, Element element, Fetch fetch) {
  if (!streamed) return WritePlainly(y, 0, n, element);
  const std::int64_t head = ElementsToLine(y, n);
  const std::int64_t tail = head + (n - head) / kBlock * kBlock;
  WritePlainly(y, 0, head, element);
  StreamBlocks(y, head, tail, [=](std::int64_t i, float* values) ACCELD_INLINE_LAMBDA {
    for (std::int64_t line = 0; line < kBlock; line += kLine) fetch(i + line);
    for (std::int64_t j = 0; j < kBlock; ++j) values[j] = element(i + j);
  });
  WritePlainly(y, tail, n, element);
}

// The same of inputs that are in a cache or that the processor fetches ahead.
template <typename Element>
void WriteElements(float* y, std::int64_t n, bool streamed, Element element) {
  WriteElements(y, n, streamed, element, [](std::int64_t /*i*/) ACCELD_INLINE_LAMBDA {});
}

// The same of elements that are there.
ACCELD_INLINE void StreamElements(const float* x, float* y, std::int64_t n) {
  WriteElements(y, n, /*streamed=*/true, [=](std::int64_t i) ACCELD_INLINE_LAMBDA { return x[i]; });
}

}  // namespace acceld::cpu
