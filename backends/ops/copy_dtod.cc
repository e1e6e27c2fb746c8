#include "backends/ops/copy_dtod.h"

#include "backends/ops/shape.h"

namespace acceld::ops {

absl::Status CopyDtoD::Check() const { return CheckByteCount(bytes, kName, "bytes"); }

OperandList CopyDtoD::Operands() {
  const auto count = static_cast<std::int64_t>(bytes);
  return {VectorOperand("source", source, Access::kRead, count, 1),
          VectorOperand("target", target, Access::kWrite, count, 1)};
}

}  // namespace acceld::ops
