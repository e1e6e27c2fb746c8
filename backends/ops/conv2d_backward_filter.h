// conv2d_backward_filter: the gradient of a 2D convolution by its filter.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/conv2d_shape.h"
#include "backends/ops/operand.h"

namespace acceld::ops {

// filter_gradient[k, c, i, j] = the sum, over every use of filter[k, c, i, j] in Conv2dForward, of
// output_gradient times the input element used there: the exact gradient, f32.
struct Conv2dBackwardFilter {
  static constexpr std::string_view kName = "conv2d_backward_filter";
  static constexpr OpClass kClass = OpClass::kConvolution;
  static constexpr bool kInPlace = false;

  Conv2dShape shape{};
  // [N, C, H, W]
  Address input = 0;
  // [N, K, Oh, Ow]
  Address output_gradient = 0;
  // [K, C, Fh, Fw]; overwritten
  Address filter_gradient = 0;

  absl::Status Check() const;
  OperandList Operands();
  double Flops() const { return shape.Flops(); }
};

}  // namespace acceld::ops
