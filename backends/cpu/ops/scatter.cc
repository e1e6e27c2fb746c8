#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "backends/cpu/kernels.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/ops/rows.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Less is not worth a thread, in elements.
constexpr std::int64_t kElementsPerThread = 64 * 1024;

// Of a smaller table threads would write the same lines in turn, in elements a thread.
constexpr std::int64_t kOwnedElements = 4 * 1024;

// Indices of which a thread picks its own at a time.
constexpr std::int64_t kPicked = 512;

// Rows [first, end) of the table. Where these are not all, the indices that are among them are
// picked first, without a branch that the processor would guess wrong.
template <CopyLoop kCopy>
void ScatterRows(const ops::Scatter& op, std::int64_t first, std::int64_t end) {
  const std::int64_t columns = op.columns;
  const std::int64_t count = static_cast<std::int64_t>(op.indices.size());
  const std::int64_t* indices = op.indices.data();
  const float* source = Pointer<const float>(op.source);
  float* table = Pointer<float>(op.table);
  const std::int64_t ahead = RowsAhead(columns);
  const auto copy = [=](std::int64_t i, std::int64_t later) {
    // What the processor does not guess: where it is written, or, of whole lines, what is read.
    const float* const next =
        kCopy == StreamRow ? source + later * columns : table + indices[later] * columns;
    kCopy(source + i * columns, table + indices[i] * columns, columns, next);
  };
  if (first == 0 && end == op.rows) {
    for (std::int64_t i = 0; i < count; ++i) copy(i, std::min(i + ahead, count - 1));
    return FinishStreaming();
  }
  std::int64_t picked[kPicked];
  for (std::int64_t begin = 0; begin < count; begin += kPicked) {
    std::int64_t picked_count = 0;
    for (std::int64_t i = begin; i < std::min(begin + kPicked, count); ++i) {
      picked[picked_count] = i;
      picked_count += (indices[i] >= first) & (indices[i] < end);
    }
    for (std::int64_t j = 0; j < picked_count; ++j) {
      copy(picked[j], picked[std::min(j + ahead, picked_count - 1)]);
    }
  }
  FinishStreaming();
}

using Loop = void (*)(const ops::Scatter& op, std::int64_t first, std::int64_t end);

template <std::size_t... kColumns>
Loop NarrowLoop(std::size_t columns, std::index_sequence<kColumns...> /*all*/) {
  constexpr std::array<Loop, sizeof...(kColumns)> kLoops = {
      ScatterRows<CopyNarrowRow<kColumns>>...};
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

}  // namespace

// Each thread owns a range of the table's rows and goes through all indices in order, so that for a
// repeated index the last wins.
absl::Status Run(const ops::Scatter& op, CpuContext& context) {
  const std::int64_t columns = op.columns;
  const std::int64_t count = static_cast<std::int64_t>(op.indices.size());
  if (columns == 0 || count == 0) return absl::OkStatus();
  if (columns >= kElementsPerThread) {
    ScatterLongRows(op, context.threads());
    return absl::OkStatus();
  }
  const Loop loop = LoopFor(columns, count);
  const int threads = count < kElementsPerThread / columns ? 1 : context.threads();
  ParallelFor(threads, op.rows, std::max<std::int64_t>(1, kOwnedElements / columns),
              [&](std::int64_t first, std::int64_t end) { loop(op, first, end); });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
