#include "backends/cuda/op_table.h"
#include "backends/cuda/ops/pointers.h"

namespace acceld::cuda {

absl::Status Run(const ops::CopyDtoD& op, CudaContext& context) {
  if (op.bytes == 0) return absl::OkStatus();
  return context.CopyOnDevice(Pointer<std::byte>(op.target), Pointer<std::byte>(op.source),
                              op.bytes);
}

}  // namespace acceld::cuda
