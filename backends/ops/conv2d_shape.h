// The sizes that the three convolution ops share.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace acceld {

// A 2D cross-correlation, as in cuDNN and PyTorch (the filter is not flipped), of dense f32 arrays:
//   output[n, k, y, x] = sum over c, i, j of
//       input[n, c, y * stride[0] + i - padding[0], x * stride[1] + j - padding[1]]
//       * filter[k, c, i, j]
// where input outside its height and width is 0. Where that meets a weight that is not finite, or
// in the filter's gradient an output gradient that is not, their product may be left out or, as
// NaN, included; which of the two depends on the shape.
struct Conv2dShape {
  // [N, C, H, W]
  std::array<std::int64_t, 4> input{};
  // [K, C, Fh, Fw]
  std::array<std::int64_t, 4> filter{};
  // [N, K, Oh, Ow], with Oh = (H + 2 padding[0] - Fh) / stride[0] + 1, rounded down; Ow likewise.
  std::array<std::int64_t, 4> output{};
  // Vertical, horizontal; at least 1.
  std::array<std::int64_t, 2> stride{1, 1};
  // Zeros added above and below, left and right.
  std::array<std::int64_t, 2> padding{0, 0};

  // The shape for this input and filter, with the output that follows from them. Sizes that allow
  // no output give an output size of 0, which Check refuses.
  static Conv2dShape For(std::array<std::int64_t, 4> input, std::array<std::int64_t, 4> filter,
                         std::array<std::int64_t, 2> stride = {1, 1},
                         std::array<std::int64_t, 2> padding = {0, 0});

  // Every size is at least 1 and below 2^31, the filter fits into the padded input, channels and
  // batch agree, and `output` is what the others give.
  absl::Status Check(std::string_view op_name) const;

  // Multiplications and additions; equal for forward and both gradients.
  double Flops() const;

  friend bool operator==(const Conv2dShape&, const Conv2dShape&) = default;
};

// The product of the four sizes, for a checked shape.
constexpr std::int64_t ElementCount(const std::array<std::int64_t, 4>& sizes) {
  return sizes[0] * sizes[1] * sizes[2] * sizes[3];
}

}  // namespace acceld
