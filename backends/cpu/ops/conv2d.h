// What the three convolution ops share on the CPU: one convolution in one of three directions, and
// the algorithm for its shape.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "backends/cpu/context.h"
#include "backends/ops/conv2d_shape.h"

namespace acceld::cpu {

enum class Conv2dDirection { kForward, kBackwardData, kBackwardFilter };

// The arrays are as in ops::Conv2dForward and its gradients: the one that the direction computes is
// written, and is a gradient backward; the other two are read.
struct Conv2d {
  Conv2dDirection direction;
  Conv2dShape shape;
  float* input;
  float* filter;
  float* output;
};

absl::Status Convolve(const Conv2d& convolution, CpuContext& context);

}  // namespace acceld::cpu
