#include <cstdint>
#include <vector>

#include "backends/reference/ops/conv2d.h"
#include "backends/reference/ops/pointers.h"
#include "backends/reference/reference.h"

namespace acceld::reference {

void Run(const ops::Conv2dBackwardFilter& op) {
  const float* output_gradient = Pointer<const float>(op.output_gradient);
  const float* input = Pointer<const float>(op.input);
  float* filter_gradient = Pointer<float>(op.filter_gradient);
  std::vector<double> sums(static_cast<std::size_t>(ElementCount(op.shape.filter)));
  ForEachProduct(op.shape, [&](std::int64_t o, std::int64_t i, std::int64_t f) {
    sums[static_cast<std::size_t>(f)] +=
        static_cast<double>(output_gradient[o]) * static_cast<double>(input[i]);
  });
  for (std::size_t i = 0; i < sums.size(); ++i) filter_gradient[i] = static_cast<float>(sums[i]);
}

}  // namespace acceld::reference
