// Convolutions by oneDNN. The arrays are plain NCHW; where oneDNN computes faster in a layout of
// its own, they are reordered into and out of workspace.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "backends/cpu/context.h"
#include "backends/ops/conv2d_shape.h"

namespace acceld::cpu {

// How many of the shape's images oneDNN is given at once: few enough that reordered arrays fit into
// the workspace a device keeps, where one image does. 0 where sizes, paddings or strides are beyond
// what oneDNN, which counts in 32 bits here and there, is safe with.
std::int64_t OneDnnImages(const Conv2dShape& shape);

// The arrays are as in ops::Conv2dForward and its gradients; at most OneDnnImages(shape) images.
// Unsupported where this oneDNN has no kernel for the shape; nothing is written then.
absl::Status OneDnnForward(const Conv2dShape& shape, const float* input, const float* filter,
                           float* output, CpuContext& context);
absl::Status OneDnnBackwardData(const Conv2dShape& shape, const float* filter,
                                const float* output_gradient, float* input_gradient,
                                CpuContext& context);
absl::Status OneDnnBackwardFilter(const Conv2dShape& shape, const float* input,
                                  const float* output_gradient, float* filter_gradient,
                                  CpuContext& context);

}  // namespace acceld::cpu
