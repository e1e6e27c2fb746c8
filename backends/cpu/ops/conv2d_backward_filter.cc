#include <cstdint>

#include "backends/cpu/kernels.h"
#include "backends/cpu/ops/conv2d_plain.h"
#include "backends/cpu/ops/image_groups.h"
#include "backends/cpu/ops/onednn.h"
#include "backends/cpu/ops/pointers.h"

namespace acceld::cpu {

absl::Status Run(const ops::Conv2dBackwardFilter& op, CpuContext& context) {
  const float* input = Pointer<const float>(op.input);
  const float* output_gradient = Pointer<const float>(op.output_gradient);
  float* filter_gradient = Pointer<float>(op.filter_gradient);
  const std::int64_t images = OneDnnImages(op.shape);
  if (images == 0) {
    PlainBackwardFilter(op.shape, input, output_gradient, filter_gradient, context);
    return absl::OkStatus();
  }

  // The gradient of the first group goes to its place; those of the others are added to it.
  const std::int64_t count = ElementCount(op.shape.filter);
  float* more = nullptr;
  if (images < op.shape.input[0]) {
    ACCELD_ASSIGN_OR_RETURN(std::byte* const workspace,
                            context.Workspace(static_cast<std::uint64_t>(count) * sizeof(float)));
    more = reinterpret_cast<float*>(workspace);
  }
  const absl::Status status = ForEachImageGroup(
      op.shape, images,
      [&](const Conv2dShape& part, std::int64_t input_offset,
          std::int64_t output_offset) -> absl::Status {
        float* gradient = input_offset == 0 ? filter_gradient : more;
        ACCELD_RETURN_IF_ERROR(OneDnnBackwardFilter(
            part, input + input_offset, output_gradient + output_offset, gradient, context));
        if (gradient == filter_gradient) return absl::OkStatus();
        for (std::int64_t i = 0; i < count; ++i) filter_gradient[i] += more[i];
        return absl::OkStatus();
      });
  if (!absl::IsUnimplemented(status)) return status;
  PlainBackwardFilter(op.shape, input, output_gradient, filter_gradient, context);
  return absl::OkStatus();
}

}  // namespace acceld::cpu
