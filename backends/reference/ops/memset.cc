#include <cstdint>

#include "backends/reference/ops/pointers.h"
#include "backends/reference/reference.h"

namespace acceld::reference {

void Run(const ops::Memset& op) {
  std::uint8_t* target = Pointer<std::uint8_t>(op.target);
  for (std::uint64_t i = 0; i < op.bytes; ++i) target[i] = op.value;
}

}  // namespace acceld::reference
