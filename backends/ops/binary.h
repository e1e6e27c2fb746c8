// binary: a function of two arrays' elements.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/operand.h"

namespace acceld::ops {

// output[i] = a[i] op b[i] for n f32 elements. The output may be a or b. max and min return the
// number where one side is NaN; otherwise IEEE 754.
struct Binary {
  static constexpr std::string_view kName = "binary";
  static constexpr OpClass kClass = OpClass::kElementwise;
  static constexpr bool kInPlace = true;

  BinaryOp op = BinaryOp::kAdd;
  std::int64_t n = 0;
  Address a = 0;
  Address b = 0;
  Address output = 0;

  absl::Status Check() const;
  OperandList Operands();
  double Flops() const { return static_cast<double>(n); }
};

}  // namespace acceld::ops
