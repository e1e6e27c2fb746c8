// A convolution of many images as several of fewer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "backends/core/status.h"
#include "backends/ops/conv2d_shape.h"

namespace acceld::cpu {

// Calls run(part, input_offset, output_offset) for groups of up to `images` (>= 1) images, with the
// shape of the group and the offsets, in elements, of its first image. Stops at the first error.
template <typename Run>
absl::Status ForEachImageGroup(const Conv2dShape& shape, std::int64_t images, Run run) {
  for (std::int64_t first = 0; first < shape.input[0]; first += images) {
    Conv2dShape part = shape;
    part.input[0] = part.output[0] = std::min(images, shape.input[0] - first);
    ACCELD_RETURN_IF_ERROR(run(part, first * (ElementCount(shape.input) / shape.input[0]),
                               first * (ElementCount(shape.output) / shape.output[0])));
  }
  return absl::OkStatus();
}

}  // namespace acceld::cpu
