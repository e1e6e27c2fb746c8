// Softmax where what is normalized together does not stay in the caches.
#pragma once

#include "absl/status/status.h"
#include "backends/cpu/context.h"
#include "backends/cpu/ops/softmax_sizes.h"

namespace acceld::cpu {

// y may be x. Reads x twice.
absl::Status SoftmaxColumns(const float* x, float* y, const SoftmaxSizes& sizes,
                            CpuContext& context);

}  // namespace acceld::cpu
