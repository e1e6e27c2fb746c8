#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "backends/cpu/kernels.h"
#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/ops/rows.h"
#include "backends/cpu/ops/streaming_store.h"
#include "backends/cpu/parallel.h"

#if ACCELD_VERSIONS
#include <immintrin.h>
#endif

namespace acceld::cpu {
namespace {

// Less is not worth a thread, in elements.
constexpr std::int64_t kElementsPerThread = 64 * 1024;

// Of a smaller table threads would write the same lines in turn, in elements a thread.
constexpr std::int64_t kOwnedElements = 4 * 1024;

// From so many indices a row on, finding the last of each costs less than copying all.
constexpr std::int64_t kLeastRepeats = 8;

// Fewer indices are not worth a thread that finds them.
constexpr std::int64_t kIndicesPerPart = 16 * 1024;

// Indices of which a thread picks its own at a time.
constexpr std::int64_t kPicked = 1024;

// Indices of a line.
constexpr std::int64_t kIndices = 8;

// The positions of the picked indices; a vector is written whole.
using Picked = std::array<std::int32_t, kPicked + kIndices>;

void FetchIndices(const std::int64_t* indices) {
  FetchAhead(reinterpret_cast<const float*>(indices));
}

// Picks those of `n` indices, at most kPicked, that are in [first, end), and returns how many these
// are. Without a branch that the processor would guess wrong.
std::int64_t PickPlainly(const std::int64_t* indices, std::int64_t n, std::int64_t first,
                         std::int64_t end, Picked& picked) {
  std::size_t count = 0;
  for (std::int64_t begin = 0; begin < n; begin += kIndices) {
    FetchIndices(indices + begin);
    for (std::int64_t i = begin; i < std::min(begin + kIndices, n); ++i) {
      picked[count] = static_cast<std::int32_t>(i);
      count += (indices[i] >= first) & (indices[i] < end);
    }
  }
  return static_cast<std::int64_t>(count);
}

#if ACCELD_VERSIONS
ACCELD_V4 std::int64_t PickForV4(const std::int64_t* indices, std::int64_t n, std::int64_t first,
                                 std::int64_t end, Picked& picked) {
  __m256i positions = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  std::int32_t* next = picked.data();
  for (std::int64_t begin = 0; begin < n; begin += kIndices) {
    FetchIndices(indices + begin);
    const __mmask8 all = 0xff >> (kIndices - std::min(n - begin, kIndices));
    const __m512i values = _mm512_maskz_loadu_epi64(all, indices + begin);
    const __mmask8 own = _mm512_mask_cmpge_epi64_mask(
        _mm512_mask_cmplt_epi64_mask(all, values, _mm512_set1_epi64(end)), values,
        _mm512_set1_epi64(first));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(next),
                        _mm256_maskz_compress_epi32(own, positions));
    next += std::popcount(own);
    positions = _mm256_add_epi32(positions, _mm256_set1_epi32(kIndices));
  }
  return next - picked.data();
}
#endif

std::int64_t Pick(const std::int64_t* indices, std::int64_t n, std::int64_t first, std::int64_t end,
                  Picked& picked) {
#if ACCELD_VERSIONS
  if (ACCELD_RUNS_V4) return PickForV4(indices, n, first, end, picked);
#endif
  return PickPlainly(indices, n, first, end, picked);
}

using Loop = void (*)(const ops::Scatter& op, std::int64_t first, std::int64_t end);

// Rows [first, end) of the table, in the order of the indices. Where these are not all, the indices
// that are among them are picked first.
template <CopyLoop kCopy, std::int64_t kColumns = 0>
void ScatterRows(const ops::Scatter& op, std::int64_t first, std::int64_t end) {
  const std::int64_t columns = kColumns != 0 ? kColumns : op.columns;
  const std::int64_t count = static_cast<std::int64_t>(op.indices.size());
  const std::int64_t* indices = op.indices.data();
  const float* source = Pointer<const float>(op.source);
  float* const table = Pointer<float>(op.table);
  const bool fetched = kCopy == StreamRow || IsFetched(op.rows * columns);
  // Copies n rows of the source, of which the ith is row begin + at(i).
  const auto copy = [=](std::int64_t begin, std::int64_t n, auto at) {
    const auto from = [=](std::int64_t i) { return source + (begin + at(i)) * columns; };
    const auto to = [=](std::int64_t i) { return table + indices[begin + at(i)] * columns; };
    // What the processor does not guess: where it is written, or, of whole lines, what is read.
    const auto next = [=](std::int64_t i) -> const float* {
      return kCopy == StreamRow ? from(i) : to(i);
    };
    CopyRows<kCopy>(columns, n, fetched, from, to, next);
  };
  if (first == 0 && end == op.rows) {
    copy(0, count, [](std::int64_t i) { return i; });
    return FinishStreaming();
  }
  Picked picked;
  for (std::int64_t begin = 0; begin < count; begin += kPicked) {
    const std::int64_t n =
        Pick(indices + begin, std::min(count - begin, kPicked), first, end, picked);
    copy(begin, n, [&picked](std::int64_t i) { return picked[static_cast<std::size_t>(i)]; });
  }
  FinishStreaming();
}

template <std::size_t... kColumns>
Loop NarrowLoop(std::size_t columns, std::index_sequence<kColumns...> /*all*/) {
  constexpr std::array<Loop, sizeof...(kColumns)> kLoops = {
      ScatterRows<CopyNarrowRow<kColumns>, kColumns>...};
  return kLoops[columns];
}

Loop LoopFor(std::int64_t columns, std::int64_t count) {
  if (columns < kNarrow) {
    return NarrowLoop(static_cast<std::size_t>(columns), std::make_index_sequence<kNarrow>());
  }
  return IsStreamed(count * columns) ? ScatterRows<StreamRow> : ScatterRows<CopyRow>;
}

// Rows so long that threads share them: each owns a range of the columns.
void ScatterLongRows(const ops::Scatter& op, int threads) {
  const std::int64_t columns = op.columns;
  const std::int64_t count = static_cast<std::int64_t>(op.indices.size());
  const auto copy = IsStreamed(count * columns) ? StreamLongRow : CopyLongRow;
  const float* source = Pointer<const float>(op.source);
  float* table = Pointer<float>(op.table);
  ParallelFor(threads, columns, kElementsPerThread / 4, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = 0; i < count; ++i) {
      copy(source + i * columns + first,
           table + op.indices[static_cast<std::size_t>(i)] * columns + first, end - first);
    }
    FinishStreaming();
  });
}

// What a part has for the last indices of its rows, which shares no line with another's.
constexpr std::int64_t PartStride(std::int64_t rows) {
  return (rows + 2 * kIndices - 1) / (2 * kIndices) * (2 * kIndices);
}

// In how many parts the last index of each row is found; 0 where most indices repeat no other, or
// the kept workspace is too small.
std::int64_t PartsFor(const ops::Scatter& op, const CpuContext& context) {
  const std::int64_t count = static_cast<std::int64_t>(op.indices.size());
  if (op.rows > count / kLeastRepeats) return 0;
  const std::int64_t parts =
      std::clamp<std::int64_t>(count / kIndicesPerPart, 1, context.threads());
  const auto elements = static_cast<std::uint64_t>(parts * PartStride(op.rows));
  return elements * sizeof(std::int64_t) <= context.kept_bytes_left() ? parts : 0;
}

// Where most indices repeat others: the last that names each row is found first, each part of the
// indices by a thread, and then only that row is copied.
absl::Status ScatterLastRows(const ops::Scatter& op, std::int64_t parts, CpuContext& context) {
  const std::int64_t columns = op.columns;
  const std::int64_t count = static_cast<std::int64_t>(op.indices.size());
  const std::int64_t* const indices = op.indices.data();
  const float* const source = Pointer<const float>(op.source);
  float* const table = Pointer<float>(op.table);
  const std::int64_t stride = PartStride(op.rows);
  ACCELD_ASSIGN_OR_RETURN(std::int64_t* const last, context.Elements<std::int64_t>(parts * stride));
  ParallelFor(context.threads(), parts, 1, [=](std::int64_t first_part, std::int64_t parts_end) {
    for (std::int64_t part = first_part; part < parts_end; ++part) {
      std::int64_t* const last_of_part = last + part * stride;
      std::fill_n(last_of_part, stride, -1);
      const std::int64_t length = count / parts;
      const std::int64_t end = part == parts - 1 ? count : (part + 1) * length;
      for (std::int64_t i = part * length; i < end; ++i) last_of_part[indices[i]] = i;
    }
  });
  ParallelFor(context.threads(), op.rows, std::max<std::int64_t>(1, kOwnedElements / columns),
              [=](std::int64_t first, std::int64_t end) {
                for (std::int64_t row = first; row < end; ++row) {
                  std::int64_t i = -1;
                  for (std::int64_t part = 0; part < parts; ++part) {
                    i = std::max(i, last[part * stride + row]);
                  }
                  if (i < 0) continue;
                  CopyRow(source + i * columns, table + row * columns, columns, /*next=*/nullptr);
                }
              });
  return absl::OkStatus();
}

}  // namespace

// For a repeated index the last wins: each thread owns a range of the table's rows, and goes
// through all indices in order or knows the last of each row.
absl::Status Run(const ops::Scatter& op, CpuContext& context) {
  const std::int64_t columns = op.columns;
  const std::int64_t count = static_cast<std::int64_t>(op.indices.size());
  if (columns == 0 || count == 0) return absl::OkStatus();
  if (columns >= kElementsPerThread) {
    ScatterLongRows(op, context.threads());
    return absl::OkStatus();
  }
  if (const std::int64_t parts = PartsFor(op, context); parts > 0) {
    return ScatterLastRows(op, parts, context);
  }
  const Loop loop = LoopFor(columns, count);
  const int threads = count < kElementsPerThread / columns ? 1 : context.threads();
  ParallelFor(threads, op.rows, std::max<std::int64_t>(1, kOwnedElements / columns),
              [&](std::int64_t first, std::int64_t end) { loop(op, first, end); });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
