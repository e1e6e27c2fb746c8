// conv2d_backward_data: the gradient of a 2D convolution by its input.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/conv2d_shape.h"
#include "backends/ops/operand.h"

namespace acceld::ops {

// input_gradient[n, c, h, w] = the sum, over every output element that reads input[n, c, h, w] in
// Conv2dForward, of output_gradient times the filter element used there: the exact gradient, f32.
struct Conv2dBackwardData {
  static constexpr std::string_view kName = "conv2d_backward_data";
  static constexpr OpClass kClass = OpClass::kConvolution;
  static constexpr bool kInPlace = false;

  Conv2dShape shape{};
  // [K, C, Fh, Fw]
  Address filter = 0;
  // [N, K, Oh, Ow]
  Address output_gradient = 0;
  // [N, C, H, W]; overwritten
  Address input_gradient = 0;

  absl::Status Check() const;
  OperandList Operands();
  double Flops() const { return shape.Flops(); }
};

}  // namespace acceld::ops
