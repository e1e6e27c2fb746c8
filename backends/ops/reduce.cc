#include "backends/ops/reduce.h"

#include "backends/core/status.h"
#include "backends/ops/check_enum.h"
#include "fmt/format.h"

namespace acceld::ops {

std::int64_t Reduce::OutputCount() const {
  const auto i = static_cast<std::size_t>(axis);
  const std::int64_t outer = shape.Product(0, i);
  const std::int64_t inner = shape.Product(i + 1, shape.rank());
  return outer == 0 ? 0 : outer * inner;
}

absl::Status Reduce::Check() const {
  ACCELD_RETURN_IF_ERROR(CheckEnum(op, kName, "op"));
  ACCELD_RETURN_IF_ERROR(CheckShape(shape, sizeof(float), kName, "shape"));
  ACCELD_RETURN_IF_ERROR(CheckAxis(axis, shape, kName));
  if (shape[static_cast<std::size_t>(axis)] != 0) return absl::OkStatus();
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (i != static_cast<std::size_t>(axis) && shape[i] == 0) return absl::OkStatus();
  }
  return InvalidArgument(
      fmt::format("Argument shape of {} is {}; axis {} must not be empty where the output is not.",
                  kName, shape.ToString(), axis));
}

OperandList Reduce::Operands() {
  return {VectorOperand("input", input, Access::kRead, shape.ElementCount(), sizeof(float)),
          VectorOperand("output", output, Access::kWrite, OutputCount(), sizeof(float))};
}

double Reduce::Flops() const { return static_cast<double>(shape.ElementCount()); }

}  // namespace acceld::ops
