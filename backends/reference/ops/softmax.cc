#include <cmath>
#include <cstdint>

#include "backends/reference/ops/extremes.h"
#include "backends/reference/ops/pointers.h"
#include "backends/reference/reference.h"

namespace acceld::reference {

void Run(const ops::Softmax& op) {
  const float* input = Pointer<const float>(op.input);
  float* output = Pointer<float>(op.output);
  const std::size_t axis = static_cast<std::size_t>(op.axis);
  const std::int64_t outer = op.shape.Product(0, axis);
  const std::int64_t length = op.shape[axis];
  const std::int64_t inner = op.shape.Product(axis + 1, op.shape.rank());
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) {
      const std::int64_t first = o * length * inner + i;
      double maximum = -INFINITY;
      for (std::int64_t l = 0; l < length; ++l) {
        maximum = Larger<double>(maximum, input[first + l * inner]);
      }
      double total = 0;
      for (std::int64_t l = 0; l < length; ++l) {
        total += std::exp(input[first + l * inner] - maximum);
      }
      for (std::int64_t l = 0; l < length; ++l) {
        const std::int64_t at = first + l * inner;
        output[at] = static_cast<float>(std::exp(input[at] - maximum) / total);
      }
    }
  }
}

}  // namespace acceld::reference
