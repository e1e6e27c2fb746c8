#include <cstdint>

#include "backends/reference/ops/pointers.h"
#include "backends/reference/reference.h"

namespace acceld::reference {

void Run(const ops::Scatter& op) {
  const float* source = Pointer<const float>(op.source);
  float* table = Pointer<float>(op.table);
  for (const std::int64_t index : op.indices) {
    for (std::int64_t j = 0; j < op.columns; ++j) table[index * op.columns + j] = *source++;
  }
}

}  // namespace acceld::reference
