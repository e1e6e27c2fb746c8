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

template <void (*kCopy)(const float* source, float* target, std::int64_t columns)>
void GatherRows(const float* table, std::int64_t columns, const std::int64_t* indices,
                std::int64_t count, float* output) {
  const std::int64_t ahead = RowsAhead(columns);
  for (std::int64_t i = 0; i < count; ++i) {
    if (i + ahead < count) FetchRow(table + indices[i + ahead] * columns, columns);
    kCopy(table + indices[i] * columns, output + i * columns, columns);
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

}  // namespace

absl::Status Run(const ops::Gather& op, CpuContext& context) {
  const std::int64_t columns = op.columns;
  const std::int64_t count = static_cast<std::int64_t>(op.indices.size());
  if (columns == 0) return absl::OkStatus();
  const Loop loop = LoopFor(columns, count);
  const float* table = Pointer<const float>(op.table);
  float* output = Pointer<float>(op.output);
  const std::int64_t* indices = op.indices.data();
  ParallelFor(context.threads(), count, std::max<std::int64_t>(1, kElementsPerThread / columns),
              [=](std::int64_t begin, std::int64_t end) {
                loop(table, columns, indices + begin, end - begin, output + begin * columns);
              });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
