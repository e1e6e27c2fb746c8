#include <cstdint>

#include "backends/core/status.h"
#include "backends/cuda/kernels/kernel.h"
#include "backends/cuda/op_table.h"
#include "backends/cuda/ops/image_groups.h"
#include "backends/cuda/ops/in_pieces.h"
#include "backends/cuda/ops/pointers.h"

namespace acceld::cuda {

absl::Status Run(const ops::Conv2dBackwardFilter& op, CudaContext& context) {
  return RunInGroups(op, kMaxConvolutionElements, context);
}

// The gradients of later groups go to workspace, and are added.
absl::Status RunInGroups(const ops::Conv2dBackwardFilter& op, std::int64_t max_elements,
                         CudaContext& context) {
  float* const gradient = Pointer<float>(op.filter_gradient);
  const std::int64_t count = ElementCount(op.shape.filter);
  float* of_group = gradient;
  return ForEachImageGroup(
      op.shape, max_elements,
      [&](const Conv2dShape& part, std::int64_t input_offset,
          std::int64_t output_offset) -> absl::Status {
        if (input_offset > 0 && of_group == gradient) {
          ACCELD_ASSIGN_OR_RETURN(
              std::byte* const workspace,
              context.Workspace(static_cast<std::uint64_t>(count) * sizeof(float)));
          of_group = reinterpret_cast<float*>(workspace);
        }
        ACCELD_RETURN_IF_ERROR(
            context.Convolution({ConvolutionKind::kBackwardFilter, part},
                                {.input = Pointer<float>(op.input) + input_offset,
                                 .filter = of_group,
                                 .output = Pointer<float>(op.output_gradient) + output_offset}));
        if (of_group == gradient) return absl::OkStatus();
        return context.Launch(BinaryKernel(BinaryOp::kAdd, count, gradient, of_group, gradient));
      });
}

}  // namespace acceld::cuda
