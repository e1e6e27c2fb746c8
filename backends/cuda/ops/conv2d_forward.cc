#include <cstdint>

#include "backends/cuda/op_table.h"
#include "backends/cuda/ops/image_groups.h"
#include "backends/cuda/ops/pointers.h"

namespace acceld::cuda {

absl::Status Run(const ops::Conv2dForward& op, CudaContext& context) {
  return ForEachImageGroup(
      op.shape, kMaxConvolutionElements,
      [&](const Conv2dShape& part, std::int64_t input_offset, std::int64_t output_offset) {
        return context.Convolution({ConvolutionKind::kForward, part},
                                   {.input = Pointer<float>(op.input) + input_offset,
                                    .filter = Pointer<float>(op.filter),
                                    .output = Pointer<float>(op.output) + output_offset});
      });
}

}  // namespace acceld::cuda
