// One spatial axis of a convolution.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/ops/conv2d_shape.h"

namespace acceld::cpu {

// Output position o reads input position o * stride + f - padding at filter position f, if that is
// inside the input.
struct Conv2dAxis {
  std::int64_t input;
  std::int64_t filter;
  std::int64_t output;
  std::int64_t stride;
  std::int64_t padding;

  // The vertical axis for 0, the horizontal one for 1.
  Conv2dAxis(const Conv2dShape& shape, std::size_t i)
      : input(shape.input[2 + i]),
        filter(shape.filter[2 + i]),
        output(shape.output[2 + i]),
        stride(shape.stride[i]),
        padding(shape.padding[i]) {}
};

}  // namespace acceld::cpu
