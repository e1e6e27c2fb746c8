#include "backends/ops/conv2d_forward.h"

namespace acceld::ops {

absl::Status Conv2dForward::Check() const { return shape.Check(kName); }

OperandList Conv2dForward::Operands() {
  return {
      VectorOperand("input", input, Access::kRead, ElementCount(shape.input), sizeof(float)),
      VectorOperand("filter", filter, Access::kRead, ElementCount(shape.filter), sizeof(float)),
      VectorOperand("output", output, Access::kWrite, ElementCount(shape.output), sizeof(float))};
}

}  // namespace acceld::ops
