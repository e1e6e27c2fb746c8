// What own kernels read of a convolution's arrays: padded with zeros and split by the stride, so
// that all outputs which a weight contributes to read adjacent elements, row behind row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/ops/conv2d_axis.h"
#include "backends/ops/conv2d_shape.h"

namespace acceld::cpu {

// Positions along an axis, of which `i` is element i * stride + offset of `size`, or a zero
// outside.
struct Window {
  std::int64_t count;
  std::int64_t stride;
  std::int64_t offset;
  std::int64_t size;

  std::int64_t At(std::int64_t i) const { return i * stride + offset; }
  bool IsWhole() const { return stride == 1 && offset == 0 && count == size; }

  // The positions inside are [begin(), end()).
  std::int64_t begin() const {
    return offset >= 0 ? 0 : std::min(count, (-offset + stride - 1) / stride);
  }
  std::int64_t end() const {
    return offset >= size ? begin()
                          : std::max(begin(), std::min(count, (size - 1 - offset) / stride + 1));
  }
};

// Copies a plane's rows and columns to [rows.count, columns.count].
void CopyWindow(const float* plane, const Window& rows, const Window& columns, float* target);

// Rows are mostly too short for a call of memcpy.
inline void CopyShortRow(const float* from, std::int64_t count, float* to) {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) std::memcpy(to + i, from + i, 4 * sizeof(float));
  for (; i < count; ++i) to[i] = from[i];
}

// One axis. Element `e` of the padded input is element e / stride of its phase e % stride.
struct SplitAxis : Conv2dAxis {
  using Conv2dAxis::Conv2dAxis;

  // Of those that the filter reads.
  std::int64_t phases() const { return std::min(stride, filter); }
  // How many of the filter's elements read the same phase, at most.
  std::int64_t taps() const { return (filter - 1) / stride + 1; }

  // What is read of a phase of the input.
  Window InputOf(std::int64_t phase) const {
    return {
        .count = output + taps() - 1, .stride = stride, .offset = phase - padding, .size = input};
  }

  // The outputs that read any element of the input, and as many before them as a filter has taps.
  Window OutputGradient() const {
    return {.count = (input - 1 + padding) / stride - padding / stride + taps(),
            .stride = 1,
            .offset = padding / stride - taps() + 1,
            .size = output};
  }
};

// An image's channels, each in all its phases.
struct SplitInput {
  SplitAxis y;
  SplitAxis x;
  std::int64_t channels;

  explicit SplitInput(const Conv2dShape& shape)
      : y(shape, 0), x(shape, 1), channels(shape.input[1]) {}

  std::int64_t height() const { return y.InputOf(0).count; }
  std::int64_t width() const { return x.InputOf(0).count; }
  std::int64_t channel() const { return y.phases() * x.phases() * height() * width(); }
  std::int64_t size() const { return channels * channel(); }
  // Whether it is the image as it is.
  bool IsWhole() const { return y.InputOf(0).IsWhole() && x.InputOf(0).IsWhole(); }

  // Where the first output reads at each of `weights` weights of a filter, channels first.
  void PutOffsets(std::int64_t weights, std::int64_t* offsets) const {
    const std::int64_t plane = y.filter * x.filter;
    for (std::int64_t i = 0; i < y.filter; ++i) {
      for (std::int64_t j = 0; j < x.filter; ++j) offsets[i * x.filter + j] = OffsetOf(i, j);
    }
    for (std::int64_t l = plane; l < weights; ++l) offsets[l] = offsets[l - plane] + channel();
  }

  // Where it reads at row i and column j of the filter.
  std::int64_t OffsetOf(std::int64_t i, std::int64_t j) const {
    const std::int64_t phase = i % y.stride * x.phases() + j % x.stride;
    return (phase * height() + i / y.stride) * width() + j / x.stride;
  }

  // Copies an image to [channels, phases, height, width].
  void Copy(const float* image, float* target, int threads) const;

 private:
  void CopyChannel(const float* image, std::int64_t c, float* target) const;
};

// The output's gradient of one image, with zeros around it, as SplitAxis::OutputGradient.
struct PaddedGradient {
  SplitAxis y;
  SplitAxis x;
  Window rows;
  Window columns;

  explicit PaddedGradient(const Conv2dShape& shape)
      : y(shape, 0), x(shape, 1), rows(y.OutputGradient()), columns(x.OutputGradient()) {}

  std::int64_t plane() const { return rows.count * columns.count; }
  // Whether it is the gradient as it is, for one phase.
  bool IsWhole() const {
    return y.stride == 1 && x.stride == 1 && rows.IsWhole() && columns.IsWhole();
  }

  // Copies the gradient of an image to [filters, rows, columns].
  void Copy(const float* image, std::int64_t filters, float* target, int threads) const;
};

}  // namespace acceld::cpu
