#include <cstdint>
#include <cstring>

#include "backends/cpu/kernels.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Less is not worth a thread, in elements.
constexpr std::int64_t kElementsPerThread = 64 * 1024;

}  // namespace

// Each thread owns a range of the table's rows and goes through all indices in order, so that for a
// repeated index the last wins.
absl::Status Run(const ops::Scatter& op, CpuContext& context) {
  const std::int64_t columns = op.columns;
  const std::int64_t count = static_cast<std::int64_t>(op.indices.size());
  if (columns == 0 || count == 0) return absl::OkStatus();
  const float* source = Pointer<const float>(op.source);
  float* table = Pointer<float>(op.table);
  const std::int64_t* indices = op.indices.data();
  const int threads = count < kElementsPerThread / columns ? 1 : context.threads();
  ParallelFor(threads, op.rows, /*grain=*/1, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (indices[i] < begin || indices[i] >= end) continue;
      std::memcpy(table + indices[i] * columns, source + i * columns,
                  static_cast<std::size_t>(columns) * sizeof(float));
    }
  });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
