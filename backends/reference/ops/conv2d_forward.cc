#include <cstdint>
#include <vector>

#include "backends/reference/ops/conv2d.h"
#include "backends/reference/ops/pointers.h"
#include "backends/reference/reference.h"

namespace acceld::reference {

void Run(const ops::Conv2dForward& op) {
  const float* input = Pointer<const float>(op.input);
  const float* filter = Pointer<const float>(op.filter);
  float* output = Pointer<float>(op.output);
  std::vector<double> sums(static_cast<std::size_t>(ElementCount(op.shape.output)));
  ForEachProduct(op.shape, [&](std::int64_t o, std::int64_t i, std::int64_t f) {
    sums[static_cast<std::size_t>(o)] +=
        static_cast<double>(input[i]) * static_cast<double>(filter[f]);
  });
  for (std::size_t i = 0; i < sums.size(); ++i) output[i] = static_cast<float>(sums[i]);
}

}  // namespace acceld::reference
