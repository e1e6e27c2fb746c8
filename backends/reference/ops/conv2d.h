// The loops the three convolutions share.
#pragma once

#include <cstdint>

#include "backends/ops/conv2d_shape.h"

namespace acceld::reference {

// Calls use(output, input, filter), with the three elements' indices in their arrays, for every
// multiplication of the convolution; input in the padding is left out.
template <typename Use>
void ForEachProduct(const Conv2dShape& shape, Use use) {
  const auto [batch, channels, height, width] = shape.input;
  const auto [filters, filter_channels, filter_height, filter_width] = shape.filter;
  const std::int64_t output_height = shape.output[2];
  const std::int64_t output_width = shape.output[3];
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t k = 0; k < filters; ++k) {
      for (std::int64_t y = 0; y < output_height; ++y) {
        for (std::int64_t x = 0; x < output_width; ++x) {
          for (std::int64_t c = 0; c < channels; ++c) {
            for (std::int64_t i = 0; i < filter_height; ++i) {
              for (std::int64_t j = 0; j < filter_width; ++j) {
                const std::int64_t row = y * shape.stride[0] + i - shape.padding[0];
                const std::int64_t column = x * shape.stride[1] + j - shape.padding[1];
                if (row < 0 || row >= height || column < 0 || column >= width) continue;
                use(((n * filters + k) * output_height + y) * output_width + x,
                    ((n * channels + c) * height + row) * width + column,
                    ((k * filter_channels + c) * filter_height + i) * filter_width + j);
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace acceld::reference
