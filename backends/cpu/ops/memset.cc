#include "backends/cpu/byte_ranges.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/ops/pointers.h"

namespace acceld::cpu {

absl::Status Run(const ops::Memset& op, CpuContext& context) {
  FillBytes(Pointer<std::byte>(op.target), op.value, op.bytes, context.threads());
  return absl::OkStatus();
}

}  // namespace acceld::cpu
