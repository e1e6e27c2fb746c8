#include "backends/cpu/byte_ranges.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/ops/streaming_store.h"

namespace acceld::cpu {

absl::Status Run(const ops::CopyDtoD& op, CpuContext& context) {
  const auto copy =
      IsStreamed(static_cast<std::int64_t>(op.bytes / sizeof(float))) ? StreamBytes : CopyBytes;
  copy(Pointer<std::byte>(op.target), Pointer<const std::byte>(op.source), op.bytes,
       context.threads());
  return absl::OkStatus();
}

}  // namespace acceld::cpu
