#include "backends/cpu/work_size.h"

namespace acceld {
namespace {

WideBytes WrittenBytes(const Op& op) {
  WideBytes bytes = 0;
  // Operands are stated with pointers to the op's address fields, so that they can be replaced;
  // here they are only read.
  for (const Operand& operand : OperandsOf(const_cast<Op&>(op))) {
    if (operand.Written()) bytes += operand.ElementBytes();
  }
  return bytes;
}

bool IsSmall(const Op& op) {
  // Of a scatter any number of rows may go to the same few.
  if (const auto* scatter = std::get_if<ops::Scatter>(&op)) {
    const auto rows = static_cast<WideBytes>(scatter->indices.size());
    return rows * static_cast<WideBytes>(scatter->columns) * sizeof(float) <= kSmallCopyBytes;
  }
  switch (ClassOf(op)) {
    case OpClass::kMatmul:
    case OpClass::kConvolution:
    case OpClass::kAttention:
      // A product over no k takes no operations, however large its output is.
      return FlopsOf(op) <= kSmallFlops && WrittenBytes(op) <= kSmallCopyBytes;
    case OpClass::kReduction:
    case OpClass::kElementwise:
      return FlopsOf(op) <= kSmallElementwiseFlops && WrittenBytes(op) <= kSmallOutputBytes;
    case OpClass::kMemory:
      return WrittenBytes(op) <= kSmallCopyBytes;
  }
  return false;
}

bool IsSmall(const HostToDevice& copy) { return copy.bytes <= kSmallCopyBytes; }
bool IsSmall(const DeviceToHost& copy) { return copy.bytes <= kSmallCopyBytes; }
bool IsSmall(const DeviceProgram* /*program*/) { return false; }

}  // namespace

bool IsSmall(const Work& work) {
  return std::visit([](const auto& typed) { return IsSmall(typed); }, work);
}

}  // namespace acceld
