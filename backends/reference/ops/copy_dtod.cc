#include <cstdint>

#include "backends/reference/ops/pointers.h"
#include "backends/reference/reference.h"

namespace acceld::reference {

void Run(const ops::CopyDtoD& op) {
  std::uint8_t* target = Pointer<std::uint8_t>(op.target);
  const std::uint8_t* source = Pointer<const std::uint8_t>(op.source);
  for (std::uint64_t i = 0; i < op.bytes; ++i) target[i] = source[i];
}

}  // namespace acceld::reference
