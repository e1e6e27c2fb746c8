#include "backends/ops/conv2d_backward_filter.h"

namespace acceld::ops {

absl::Status Conv2dBackwardFilter::Check() const { return shape.Check(kName); }

OperandList Conv2dBackwardFilter::Operands() {
  return {VectorOperand("input", input, Access::kRead, ElementCount(shape.input), sizeof(float)),
          VectorOperand("output_gradient", output_gradient, Access::kRead,
                        ElementCount(shape.output), sizeof(float)),
          VectorOperand("filter_gradient", filter_gradient, Access::kWrite,
                        ElementCount(shape.filter), sizeof(float))};
}

}  // namespace acceld::ops
