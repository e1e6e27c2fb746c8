#include "backends/ops/softmax.h"

#include "backends/core/status.h"

namespace acceld::ops {

absl::Status Softmax::Check() const {
  ACCELD_RETURN_IF_ERROR(CheckShape(shape, sizeof(float), kName, "shape"));
  return CheckAxis(axis, shape, kName);
}

OperandList Softmax::Operands() {
  const std::int64_t count = shape.ElementCount();
  return {VectorOperand("input", input, Access::kRead, count, sizeof(float)),
          VectorOperand("output", output, Access::kWrite, count, sizeof(float))};
}

double Softmax::Flops() const {
  // Maximum, subtraction, exponential, sum and division.
  return 5 * static_cast<double>(shape.ElementCount());
}

}  // namespace acceld::ops
