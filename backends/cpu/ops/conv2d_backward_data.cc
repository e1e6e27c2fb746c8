#include <cstdint>

#include "backends/cpu/kernels.h"
#include "backends/cpu/ops/conv2d_plain.h"
#include "backends/cpu/ops/image_groups.h"
#include "backends/cpu/ops/onednn.h"
#include "backends/cpu/ops/pointers.h"

namespace acceld::cpu {

absl::Status Run(const ops::Conv2dBackwardData& op, CpuContext& context) {
  const float* filter = Pointer<const float>(op.filter);
  const float* output_gradient = Pointer<const float>(op.output_gradient);
  float* input_gradient = Pointer<float>(op.input_gradient);
  if (const std::int64_t images = OneDnnImages(op.shape); images > 0) {
    const absl::Status status = ForEachImageGroup(
        op.shape, images,
        [&](const Conv2dShape& part, std::int64_t input_offset, std::int64_t output_offset) {
          return OneDnnBackwardData(part, filter, output_gradient + output_offset,
                                    input_gradient + input_offset, context);
        });
    if (!absl::IsUnimplemented(status)) return status;
  }
  PlainBackwardData(op.shape, filter, output_gradient, input_gradient, context);
  return absl::OkStatus();
}

}  // namespace acceld::cpu
