#include "backends/cpu/kernels.h"
#include "backends/cpu/ops/conv2d.h"
#include "backends/cpu/ops/pointers.h"

namespace acceld::cpu {

absl::Status Run(const ops::Conv2dBackwardData& op, CpuContext& context) {
  return Convolve({.direction = Conv2dDirection::kBackwardData,
                   .shape = op.shape,
                   .input = Pointer<float>(op.input_gradient),
                   .filter = Pointer<float>(op.filter),
                   .output = Pointer<float>(op.output_gradient)},
                  context);
}

}  // namespace acceld::cpu
