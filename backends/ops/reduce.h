// reduce: one axis of an array folded into one value.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/operand.h"
#include "backends/ops/shape.h"

namespace acceld::ops {

// output = input folded along `axis` by `op`; f32, dense row-major. The output's shape is `shape`
// without `axis`.
//
// A sum begins at -0, to which adding changes nothing; so it is -0 where all elements are, however
// many. max and min return the number where one side is NaN; all NaN gives NaN. The axis has length
// 0 only where the output is empty.
struct Reduce {
  static constexpr std::string_view kName = "reduce";
  static constexpr OpClass kClass = OpClass::kReduction;
  static constexpr bool kInPlace = false;

  ReduceOp op = ReduceOp::kSum;
  Shape shape{};
  // In [0, rank).
  std::int64_t axis = 0;
  Address input = 0;
  Address output = 0;

  // How many elements the output has; of a checked op.
  std::int64_t OutputCount() const;

  absl::Status Check() const;
  OperandList Operands();
  double Flops() const;
};

}  // namespace acceld::ops
