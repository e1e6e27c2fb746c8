// Convolutions of any shape as matrix products: the inputs that each output reads become a column
// (im2col; Chellapilla, Puri and Simard, "High performance convolutional neural networks for
// document processing", 2006).
#pragma once

#include "absl/status/status.h"
#include "backends/cpu/context.h"
#include "backends/cpu/ops/conv2d.h"

namespace acceld::cpu {

// Only a part of the columns is in memory at a time, about a MiB of workspace a thread.
absl::Status ConvolveColumns(const Conv2d& convolution, CpuContext& context);

}  // namespace acceld::cpu
