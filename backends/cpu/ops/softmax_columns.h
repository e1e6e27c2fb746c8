// Softmax where a row does not stay in the caches, or is not of adjacent elements.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "backends/cpu/context.h"

namespace acceld::cpu {

// An array [outer, length, inner], normalized along length; none is 0.
struct SoftmaxSizes {
  std::int64_t outer;
  std::int64_t length;
  std::int64_t inner;
};

// y may be x. Reads x twice.
absl::Status SoftmaxColumns(const float* x, float* y, const SoftmaxSizes& sizes,
                            CpuContext& context);

}  // namespace acceld::cpu
