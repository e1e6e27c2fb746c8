// Convolutions image group by image group: cuDNN counts the elements of an array in 31 bits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "backends/core/status.h"
#include "backends/ops/conv2d_shape.h"

namespace acceld::cuda {

inline constexpr std::int64_t kMaxConvolutionElements = (std::int64_t{1} << 31) - 1;

// Calls run(part, input_offset, output_offset) for groups of images, of at most `max_elements` in
// an array unless one image has more: the convolution of those images, and where they begin in the
// arrays, in elements.
template <typename RunPart>
absl::Status ForEachImageGroup(const Conv2dShape& shape, std::int64_t max_elements, RunPart run) {
  const std::int64_t images = shape.input[0];
  const std::int64_t input_elements = ElementCount(shape.input) / images;
  const std::int64_t output_elements = ElementCount(shape.output) / images;
  const std::int64_t largest = std::max(input_elements, output_elements);
  const std::int64_t group = std::clamp<std::int64_t>(max_elements / largest, 1, images);
  for (std::int64_t first = 0; first < images; first += group) {
    Conv2dShape part = shape;
    part.input[0] = part.output[0] = std::min(group, images - first);
    ACCELD_RETURN_IF_ERROR(run(part, first * input_elements, first * output_elements));
  }
  return absl::OkStatus();
}

}  // namespace acceld::cuda
