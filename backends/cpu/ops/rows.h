// Rows of a table, for gather and scatter: copies, and fetching ahead what the processor does not
// guess.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/ops/streaming_store.h"

namespace acceld::cpu {

// A row narrower than this has a copy of its own, without a call.
inline constexpr std::int64_t kNarrow = 32;

// Rows are fetched into the second-level cache this much ahead, in elements: early enough for the
// memory to answer.
inline constexpr std::int64_t kFetchAhead = 2 * 1024;

// Whether rows of a table of so many elements are: one of less than 512 KiB stays in that cache.
constexpr bool IsFetched(std::int64_t elements) { return elements >= 128 * 1024; }

constexpr std::int64_t RowsAhead(std::int64_t columns) {
  return std::clamp<std::int64_t>(kFetchAhead / columns, 1, 64);
}

// Fetches a row, whose last element may be in a line more; of a long one the beginning, after which
// the processor guesses.
ACCELD_INLINE void FetchRow(const float* row, std::int64_t columns) {
  for (std::int64_t i = 0; i < std::min(columns, kFetchAhead); i += kLine) {
    FetchLine(row + i);
  }
  FetchLine(row + columns - 1);
}

// How a row is copied, and the one at `next`, of as many columns, fetched meanwhile. Without `next`
// nothing is.
using CopyLoop = void (*)(const float* source, float* target, std::int64_t columns,
                          const float* next);

inline void CopyRow(const float* source, float* target, std::int64_t columns, const float* next) {
  if (next != nullptr) FetchRow(next, columns);
  std::memcpy(target, source, static_cast<std::size_t>(columns) * sizeof(float));
}

// The same past the caches; the caller calls FinishStreaming. A line is fetched with each that is
// copied: the processor holds few that are on their way.
inline void StreamRow(const float* source, float* target, std::int64_t columns, const float* next) {
  if (next == nullptr) return StreamElements(source, target, columns);
  WriteElements(
      target, columns, /*streamed=*/true,
      [=](std::int64_t i) ACCELD_INLINE_LAMBDA { return source[i]; },
      [=](std::int64_t i) ACCELD_INLINE_LAMBDA { FetchLine(next + i); });
}

// A narrow row of `kColumns`.
template <std::size_t kColumns>
ACCELD_INLINE void CopyNarrowRow(const float* source, float* target, std::int64_t /*columns*/,
                                 const float* next) {
  if (next != nullptr) FetchRow(next, kColumns);
  std::memcpy(target, source, kColumns * sizeof(float));
}

// Copies `count` rows, from source(i) to target(i); where `fetched`, next(i) is fetched ahead.
template <CopyLoop kCopy, typename Source, typename Target, typename Next>
ACCELD_INLINE void CopyRows(std::int64_t columns, std::int64_t count, bool fetched, Source source,
                            Target target, Next next) {
  const std::int64_t ahead = RowsAhead(columns);
  std::int64_t i = 0;
  if (fetched) {
    for (; i < count - ahead; ++i) kCopy(source(i), target(i), columns, next(i + ahead));
  }
  for (; i < count; ++i) kCopy(source(i), target(i), columns, nullptr);
}

// A row of so many elements, or a part of one, that the processor fetches them ahead by itself.
inline void CopyLongRow(const float* source, float* target, std::int64_t n) {
  std::memcpy(target, source, static_cast<std::size_t>(n) * sizeof(float));
}

inline void StreamLongRow(const float* source, float* target, std::int64_t n) {
  WriteElements(
      target, n, /*streamed=*/true, [=](std::int64_t i) ACCELD_INLINE_LAMBDA { return source[i]; },
      [=](std::int64_t i) ACCELD_INLINE_LAMBDA { FetchAhead(source + i); });
}

}  // namespace acceld::cpu
