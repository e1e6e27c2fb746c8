#include "backends/ops/conv2d_backward_data.h"

namespace acceld::ops {

absl::Status Conv2dBackwardData::Check() const { return shape.Check(kName); }

OperandList Conv2dBackwardData::Operands() {
  return {VectorOperand("filter", filter, Access::kRead, ElementCount(shape.filter), sizeof(float)),
          VectorOperand("output_gradient", output_gradient, Access::kRead,
                        ElementCount(shape.output), sizeof(float)),
          VectorOperand("input_gradient", input_gradient, Access::kWrite, ElementCount(shape.input),
                        sizeof(float))};
}

}  // namespace acceld::ops
