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

template <CopyLoop kCopy>
void GatherRows(const float* table, std::int64_t columns, const std::int64_t* indices,
                std::int64_t count, float* output) {
  const std::int64_t ahead = RowsAhead(columns);
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const next = table + indices[std::min(i + ahead, count - 1)] * columns;
    kCopy(table + indices[i] * columns, output + i * columns, columns, next);
  }
  FinishStreaming();
}

using Loop = void (*)(const float* table, std::int64_t columns, const std::int64_t* indices,
                      std::int64_t count, float* output);

template <std::size_t... kColumns>
Loop NarrowLoop(std::size_t columns, std::index_sequence<kColumns...> /*all*/) {
  constexpr std::array<Loop, sizeof...(kColumns)> kLoops = {GatherRows<CopyNarrowRow<kColumns>>...};
  return kLoops[columns];
}

Loop LoopFor(std::int64_t columns, std::int64_t count) {
  if (columns < kNarrow) {
    return NarrowLoop(static_cast<std::size_t>(columns), std::make_index_sequence<kNarrow>());
  }
  return IsStreamed(count * columns) ? GatherRows<StreamRow> : GatherRows<CopyRow>;
}

// Rows so long that threads share them.
void GatherLongRows(const float* table, std::int64_t columns, const std::int64_t* indices,
                    std::int64_t count, float* output, int threads) {
  const auto copy = IsStreamed(count * columns) ? StreamLongRow : CopyLongRow;
  ParallelFor(threads, count * columns, kElementsPerThread,
              [=](std::int64_t begin, std::int64_t end) {
                while (begin < end) {
                  const std::int64_t row = begin / columns;
                  const std::int64_t column = begin % columns;
                  const std::int64_t n = std::min(end - begin, columns - column);
                  copy(table + indices[row] * columns + column, output + begin, n);
                  begin += n;
                }
                FinishStreaming();
              });
}

}  // namespace

absl::Status Run(const ops::Gather& op, CpuContext& context) {
  const std::int64_t columns = op.columns;
  const std::int64_t count = static_cast<std::int64_t>(op.indices.size());
  if (columns == 0) return absl::OkStatus();
  const float* table = Pointer<const float>(op.table);
  float* output = Pointer<float>(op.output);
  const std::int64_t* indices = op.indices.data();
  if (columns >= kElementsPerThread) {
    GatherLongRows(table, columns, indices, count, output, context.threads());
    return absl::OkStatus();
  }
  const Loop loop = LoopFor(columns, count);
  ParallelFor(context.threads(), count, std::max<std::int64_t>(1, kElementsPerThread / columns),
              [=](std::int64_t begin, std::int64_t end) {
                loop(table, columns, indices + begin, end - begin, output + begin * columns);
              });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
