// unary: a function of each element.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/operand.h"

namespace acceld::ops {

// output[i] = op(input[i]) for n f32 elements. May be in place. relu(NaN) is 0 (as fmax(x, 0));
// otherwise IEEE 754.
struct Unary {
  static constexpr std::string_view kName = "unary";
  static constexpr OpClass kClass = OpClass::kElementwise;
  static constexpr bool kInPlace = true;

  UnaryOp op = UnaryOp::kRelu;
  std::int64_t n = 0;
  Address input = 0;
  Address output = 0;

  absl::Status Check() const;
  OperandList Operands();
  double Flops() const { return static_cast<double>(n); }
};

}  // namespace acceld::ops
