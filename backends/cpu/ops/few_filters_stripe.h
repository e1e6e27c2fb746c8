// Some rows of an image's output and the rows of the input that they belong to, and the loops over
// them of a convolution with few filters (conv2d_few_filters.h).
#pragma once

#include <cstdint>

#include "backends/ops/conv2d_shape.h"

namespace acceld::cpu {

// Of a vector.
inline constexpr std::int64_t kStripeLanes = 16;

constexpr std::int64_t RoundUpToStripeLanes(std::int64_t count) {
  return (count + kStripeLanes - 1) / kStripeLanes * kStripeLanes;
}

// Copies of the rows, padded with zeros so that whole vectors can be read.
struct Stripe {
  const Conv2dShape& shape;
  // Rows of the output.
  std::int64_t first = 0;
  std::int64_t rows = 0;
  // [channels, input_rows, width]
  float* input = nullptr;
  std::int64_t input_rows = 0;
  std::int64_t width = 0;
  // [filters, rows, RoundUpToStripeLanes(columns)], for the filter's gradient.
  float* output = nullptr;

  std::int64_t columns() const { return shape.output[3]; }
  // Row `row` of the stripe at filter row `i`.
  const float* InputRow(std::int64_t channel, std::int64_t row, std::int64_t i) const {
    return input + (channel * input_rows + row * shape.stride[0] + i) * width;
  }
};

// Fill the stripe's input, or its output, from an image's.
void PadInput(const Stripe& stripe, const float* image, int threads);
void PadOutput(const Stripe& stripe, const float* image, int threads);

// Rows `begin` to `end` of the stripe; `output` is the image's.
void ForwardRows(const Stripe& stripe, const float* filter, std::int64_t begin, std::int64_t end,
                 float* output);

// Adds to the gradient of the filter's rows `begin` to `end`, which count through all channels.
void AddGradientsOfRows(const Stripe& stripe, std::int64_t begin, std::int64_t end,
                        float* gradient);

}  // namespace acceld::cpu
