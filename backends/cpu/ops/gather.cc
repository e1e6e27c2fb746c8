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

using Loop = void (*)(const ops::Gather& op, std::int64_t begin, std::int64_t end);

// The rows of the output from `begin` to `end`.
template <CopyLoop kCopy, std::int64_t kColumns = 0>
void GatherRows(const ops::Gather& op, std::int64_t begin, std::int64_t end) {
  const std::int64_t columns = kColumns != 0 ? kColumns : op.columns;
  const float* const table = Pointer<const float>(op.table);
  float* const output = Pointer<float>(op.output) + begin * columns;
  const std::int64_t* const indices = op.indices.data() + begin;
  const auto row = [=](std::int64_t i) { return table + indices[i] * columns; };
  CopyRows<kCopy>(
      columns, end - begin, IsFetched(op.rows * columns), row,
      [=](std::int64_t i) { return output + i * columns; }, row);
  FinishStreaming();
}

template <std::size_t... kColumns>
Loop NarrowLoop(std::size_t columns, std::index_sequence<kColumns...> /*all*/) {
  constexpr std::array<Loop, sizeof...(kColumns)> kLoops = {
      GatherRows<CopyNarrowRow<kColumns>, kColumns>...};
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
              [&](std::int64_t begin, std::int64_t end) { loop(op, begin, end); });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
