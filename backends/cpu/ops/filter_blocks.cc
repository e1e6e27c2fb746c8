#include "backends/cpu/ops/filter_blocks.h"

#include <cstring>

#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

using Four = float __attribute__((vector_size(16)));
using Indices = int __attribute__((vector_size(16)));

constexpr Indices kLowPairs{0, 4, 1, 5};
constexpr Indices kHighPairs{2, 6, 3, 7};
constexpr Indices kLowHalves{0, 1, 4, 5};
constexpr Indices kHighHalves{2, 3, 6, 7};

Four Load(const float* source) {
  Four four;
  std::memcpy(&four, source, sizeof(four));
  return four;
}

void Store(Four four, float* target) { std::memcpy(target, &four, sizeof(four)); }

// Transposes 4 rows of 16 elements into 16 rows of 4, `stride` apart.
void Transpose(const float* const rows[4], float* target, std::int64_t stride) {
  for (std::int64_t i = 0; i < kFilterBlock; i += 4) {
    const Four a = Load(rows[0] + i);
    const Four b = Load(rows[1] + i);
    const Four c = Load(rows[2] + i);
    const Four d = Load(rows[3] + i);
    const Four low_ab = __builtin_shuffle(a, b, kLowPairs);
    const Four high_ab = __builtin_shuffle(a, b, kHighPairs);
    const Four low_cd = __builtin_shuffle(c, d, kLowPairs);
    const Four high_cd = __builtin_shuffle(c, d, kHighPairs);
    Store(__builtin_shuffle(low_ab, low_cd, kLowHalves), target + i * stride);
    Store(__builtin_shuffle(low_ab, low_cd, kHighHalves), target + (i + 1) * stride);
    Store(__builtin_shuffle(high_ab, high_cd, kLowHalves), target + (i + 2) * stride);
    Store(__builtin_shuffle(high_ab, high_cd, kHighHalves), target + (i + 3) * stride);
  }
}

// One block of each place of the plane.
void CopyBlocks(const float* blocks, std::int64_t plane, float* plain, std::int64_t stride) {
  for (std::int64_t weight = 0; weight < kFilterBlock * plane; weight += 4) {
    const float* rows[4];
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::int64_t channel = (weight + i) / plane;
      const std::int64_t place = (weight + i) % plane;
      rows[i] = blocks + (place * kFilterBlock + channel) * kFilterBlock;
    }
    Transpose(rows, plain + weight, stride);
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
