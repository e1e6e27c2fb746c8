// conv2d_forward: a 2D convolution of NCHW images.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/conv2d_shape.h"
#include "backends/ops/operand.h"

namespace acceld::ops {

// output = input cross-correlated with filter, f32; the formula is Conv2dShape's.
struct Conv2dForward {
  static constexpr std::string_view kName = "conv2d_forward";
  static constexpr OpClass kClass = OpClass::kConvolution;
  static constexpr bool kInPlace = false;

  Conv2dShape shape{};
  // [N, C, H, W]
  Address input = 0;
  // [K, C, Fh, Fw]
  Address filter = 0;
  // [N, K, Oh, Ow]; overwritten
  Address output = 0;

  absl::Status Check() const;
  OperandList Operands();
  double Flops() const { return shape.Flops(); }
};

}  // namespace acceld::ops
