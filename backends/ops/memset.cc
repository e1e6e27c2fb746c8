#include "backends/ops/memset.h"

#include "backends/ops/shape.h"

namespace acceld::ops {

absl::Status Memset::Check() const { return CheckByteCount(bytes, kName, "bytes"); }

OperandList Memset::Operands() {
  return {VectorOperand("target", target, Access::kWrite, static_cast<std::int64_t>(bytes), 1)};
}

}  // namespace acceld::ops
