// Convolutions as own loops, for the shapes oneDNN is not given: slow, and right for every shape.
#pragma once

#include "backends/cpu/context.h"
#include "backends/ops/conv2d_shape.h"

namespace acceld::cpu {

// The arrays are as in ops::Conv2dForward and its gradients. Sums are in double.
void PlainForward(const Conv2dShape& shape, const float* input, const float* filter, float* output,
                  const CpuContext& context);
void PlainBackwardData(const Conv2dShape& shape, const float* filter, const float* output_gradient,
                       float* input_gradient, const CpuContext& context);
void PlainBackwardFilter(const Conv2dShape& shape, const float* input, const float* output_gradient,
                         float* filter_gradient, const CpuContext& context);

}  // namespace acceld::cpu
