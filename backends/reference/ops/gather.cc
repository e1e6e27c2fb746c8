#include <cstdint>

#include "backends/reference/ops/pointers.h"
#include "backends/reference/reference.h"

namespace acceld::reference {

void Run(const ops::Gather& op) {
  const float* table = Pointer<const float>(op.table);
  float* output = Pointer<float>(op.output);
  for (const std::int64_t index : op.indices) {
    for (std::int64_t j = 0; j < op.columns; ++j) *output++ = table[index * op.columns + j];
  }
}

}  // namespace acceld::reference
