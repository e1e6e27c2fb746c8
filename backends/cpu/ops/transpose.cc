#include "backends/cpu/ops/transpose.h"

#include <cstring>

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

}  // namespace

void Transpose4x16(const float* const rows[4], float* target, std::int64_t stride) {
  for (std::int64_t i = 0; i < 16; i += 4) {
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

void TransposeMatrix(const float* from, std::int64_t rows, std::int64_t columns,
                     std::int64_t from_stride, float* to, std::int64_t to_stride) {
  const std::int64_t whole_rows = rows / 4 * 4;
  const std::int64_t whole_columns = columns / 16 * 16;
  for (std::int64_t i = 0; i < whole_rows; i += 4) {
    const float* const first = from + i * from_stride;
    for (std::int64_t j = 0; j < whole_columns; j += 16) {
      const float* const four[] = {first + j, first + from_stride + j, first + 2 * from_stride + j,
                                   first + 3 * from_stride + j};
      Transpose4x16(four, to + j * to_stride + i, to_stride);
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j) {
      to[j * to_stride + i] = from[i * from_stride + j];
    }
  }
}

}  // namespace acceld::cpu
