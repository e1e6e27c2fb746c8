#include "backends/cpu/ops/filter_blocks.h"

#include "backends/cpu/ops/transpose.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// One block of each place of the plane.
void CopyBlocks(const float* blocks, std::int64_t plane, float* plain, std::int64_t stride) {
  for (std::int64_t weight = 0; weight < kFilterBlock * plane; weight += 4) {
    const float* rows[4];
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::int64_t channel = (weight + i) / plane;
      const std::int64_t place = (weight + i) % plane;
      rows[i] = blocks + (place * kFilterBlock + channel) * kFilterBlock;
    }
    Transpose4x16(rows, plain + weight, stride);
  }
}

}  // namespace

void CopyFromBlocks(const float* blocks, std::int64_t filters, std::int64_t channels,
                    std::int64_t plane, float* plain, int threads) {
  const std::int64_t column_blocks = channels / kFilterBlock;
  const std::int64_t stride = channels * plane;
  ParallelFor(threads, filters / kFilterBlock, /*grain=*/1,
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin * column_blocks; i < end * column_blocks; ++i) {
                  CopyBlocks(blocks + i * plane * kFilterBlock * kFilterBlock, plane,
                             plain + i / column_blocks * kFilterBlock * stride +
                                 i % column_blocks * kFilterBlock * plane,
                             stride);
                }
              });
}

}  // namespace acceld::cpu
