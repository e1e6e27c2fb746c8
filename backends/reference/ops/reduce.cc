#include <cmath>
#include <cstdint>

#include "backends/reference/ops/extremes.h"
#include "backends/reference/ops/pointers.h"
#include "backends/reference/reference.h"

namespace acceld::reference {

void Run(const ops::Reduce& op) {
  const float* input = Pointer<const float>(op.input);
  float* output = Pointer<float>(op.output);
  const std::size_t axis = static_cast<std::size_t>(op.axis);
  const std::int64_t outer = op.shape.Product(0, axis);
  const std::int64_t length = op.shape[axis];
  const std::int64_t inner = op.shape.Product(axis + 1, op.shape.rank());
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) {
      double sum = -0.0;
      float largest = NAN;
      float smallest = NAN;
      for (std::int64_t l = 0; l < length; ++l) {
        const float value = input[(o * length + l) * inner + i];
        sum += value;
        largest = Larger(largest, value);
        smallest = Smaller(smallest, value);
      }
      float& result = output[o * inner + i];
      switch (op.op) {
        case ReduceOp::kSum:
          result = static_cast<float>(sum);
          break;
        case ReduceOp::kMean:
          result = static_cast<float>(sum / static_cast<double>(length));
          break;
        case ReduceOp::kMax:
          result = largest;
          break;
        case ReduceOp::kMin:
          result = smallest;
          break;
      }
    }
  }
}

}  // namespace acceld::reference
