// Convolutions by own kernels (small_kernels.h), on copies of what is read that are padded and
// split by the stride. For small ones, since oneDNN takes longer to make a primitive, to call it
// and to reorder arrays for it; and for those with few channels or filters, which its blocks of 16
// pad.
#pragma once

#include "absl/status/status.h"
#include "backends/cpu/context.h"
#include "backends/cpu/ops/conv2d.h"

namespace acceld::cpu {

// Whether a convolution has as many places or, for the filter's gradient, filters as half a vector
// of the kernels.
bool FillsKernels(Conv2dDirection direction, const Conv2dShape& shape);

// Computes a convolution. Takes workspace for an image and its output.
absl::Status ConvolveByKernels(const Conv2d& convolution, CpuContext& context);

}  // namespace acceld::cpu
