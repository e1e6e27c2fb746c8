// Convolutions that are matrix products of the arrays as they are.
#pragma once

#include "absl/status/status.h"
#include "backends/cpu/ops/conv2d.h"

namespace acceld::cpu {

// Whether each output is a sum over a whole image: the filter covers it, without padding.
bool CoversImage(const Conv2dShape& shape);

// One product over all images of a convolution that CoversImage.
absl::Status ConvolveWholeImages(const Conv2d& convolution);

// Whether each output is a sum over the channels at one place: a filter of 1 x 1.
bool IsPointwise(const Conv2dShape& shape);

// One product an image of a convolution that IsPointwise.
absl::Status ConvolvePointwise(const Conv2d& convolution);

}  // namespace acceld::cpu
