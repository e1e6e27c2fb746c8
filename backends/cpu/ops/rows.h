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

constexpr std::int64_t RowsAhead(std::int64_t columns) {
  return std::clamp<std::int64_t>(kFetchAhead / columns, 1, 64);
}

// Fetches a row; of a long one the beginning, after which the processor guesses.
ACCELD_INLINE void FetchRow(const float* row, std::int64_t columns) {
  for (std::int64_t i = 0; i < std::min(columns, kFetchAhead); i += 16) {
    __builtin_prefetch(row + i, /*rw=*/0, /*locality=*/2);
  }
}

inline void CopyRow(const float* source, float* target, std::int64_t columns) {
  std::memcpy(target, source, static_cast<std::size_t>(columns) * sizeof(float));
}

// The same past the caches; the caller calls FinishStreaming.
inline void StreamRow(const float* source, float* target, std::int64_t columns) {
  const std::int64_t head = ElementsToLine(target, columns);
  if (head > 0) CopyRow(source, target, head);
  std::int64_t i = head;
  for (; i + kStreamedBlock <= columns; i += kStreamedBlock) StreamBlock(source + i, target + i);
  if (i < columns) CopyRow(source + i, target + i, columns - i);
}

// A narrow row of `kColumns`.
template <std::size_t kColumns>
void CopyNarrowRow(const float* source, float* target, std::int64_t /*columns*/) {
  std::memcpy(target, source, kColumns * sizeof(float));
}

}  // namespace acceld::cpu
