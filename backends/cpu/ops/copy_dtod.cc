#include "backends/cpu/byte_ranges.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/ops/pointers.h"

namespace acceld::cpu {

absl::Status Run(const ops::CopyDtoD& op, CpuContext& context) {
  CopyBytes(Pointer<std::byte>(op.target), Pointer<const std::byte>(op.source), op.bytes,
            context.threads());
  return absl::OkStatus();
}

}  // namespace acceld::cpu
