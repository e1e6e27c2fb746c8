#include "backends/cpu/kernels.h"
#include "backends/cpu/ops/conv2d.h"
#include "backends/cpu/ops/pointers.h"

namespace acceld::cpu {

absl::Status Run(const ops::Conv2dForward& op, CpuContext& context) {
  return Convolve({.direction = Conv2dDirection::kForward,
                   .shape = op.shape,
                   .input = Pointer<float>(op.input),
                   .filter = Pointer<float>(op.filter),
                   .output = Pointer<float>(op.output)},
                  context);
}

}  // namespace acceld::cpu
