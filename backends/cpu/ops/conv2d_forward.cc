#include <cstdint>

#include "backends/cpu/kernels.h"
#include "backends/cpu/ops/conv2d_plain.h"
#include "backends/cpu/ops/image_groups.h"
#include "backends/cpu/ops/onednn.h"
#include "backends/cpu/ops/pointers.h"

namespace acceld::cpu {

absl::Status Run(const ops::Conv2dForward& op, CpuContext& context) {
  const float* input = Pointer<const float>(op.input);
  const float* filter = Pointer<const float>(op.filter);
  float* output = Pointer<float>(op.output);
  if (const std::int64_t images = OneDnnImages(op.shape); images > 0) {
    const absl::Status status = ForEachImageGroup(
        op.shape, images,
        [&](const Conv2dShape& part, std::int64_t input_offset, std::int64_t output_offset) {
          return OneDnnForward(part, input + input_offset, filter, output + output_offset, context);
        });
    if (!absl::IsUnimplemented(status)) return status;
  }
  PlainForward(op.shape, input, filter, output, context);
  return absl::OkStatus();
}

}  // namespace acceld::cpu
