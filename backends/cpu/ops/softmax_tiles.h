// Softmax along short lengths, with what is normalized together in a cache.
#pragma once

#include <cstdint>

#include "backends/cpu/ops/softmax_sizes.h"

namespace acceld::cpu {

// The longest length.
inline constexpr std::int64_t kLongestTile = 512;

// y may be x. Reads x once.
void SoftmaxTiles(const float* x, float* y, const SoftmaxSizes& sizes, int threads);

}  // namespace acceld::cpu
