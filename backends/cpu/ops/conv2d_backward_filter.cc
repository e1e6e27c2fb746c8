#include "backends/cpu/kernels.h"
#include "backends/cpu/ops/conv2d.h"
#include "backends/cpu/ops/pointers.h"

namespace acceld::cpu {

absl::Status Run(const ops::Conv2dBackwardFilter& op, CpuContext& context) {
  return Convolve({.direction = Conv2dDirection::kBackwardFilter,
                   .shape = op.shape,
                   .input = Pointer<float>(op.input),
                   .filter = Pointer<float>(op.filter_gradient),
                   .output = Pointer<float>(op.output_gradient)},
                  context);
}

}  // namespace acceld::cpu
