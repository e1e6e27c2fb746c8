#include <algorithm>
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

absl::Status Run(const ops::Gather& op, CpuContext& context) {
  const std::int64_t columns = op.columns;
  if (columns == 0) return absl::OkStatus();
  const float* table = Pointer<const float>(op.table);
  float* output = Pointer<float>(op.output);
  const std::int64_t* indices = op.indices.data();
  const std::int64_t grain = std::max<std::int64_t>(1, kElementsPerThread / columns);
  ParallelFor(context.threads(), static_cast<std::int64_t>(op.indices.size()), grain,
              [=](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) {
                  std::memcpy(output + i * columns, table + indices[i] * columns,
                              static_cast<std::size_t>(columns) * sizeof(float));
                }
              });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
