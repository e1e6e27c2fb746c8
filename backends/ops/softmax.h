// softmax: exponentials normalized along one axis.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/operand.h"
#include "backends/ops/shape.h"

namespace acceld::ops {

// output[..., i, ...] = exp(input[..., i, ...] - max) / sum over i of the same, along `axis`, with
// max the largest input along it, so that nothing overflows; f32, dense row-major. May be in place.
struct Softmax {
  static constexpr std::string_view kName = "softmax";
  static constexpr OpClass kClass = OpClass::kReduction;
  static constexpr bool kInPlace = true;

  Shape shape{};
  // In [0, rank).
  std::int64_t axis = 0;
  Address input = 0;
  Address output = 0;

  absl::Status Check() const;
  OperandList Operands();
  double Flops() const;
};

}  // namespace acceld::ops
