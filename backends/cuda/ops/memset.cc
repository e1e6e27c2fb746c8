#include "backends/cuda/op_table.h"
#include "backends/cuda/ops/pointers.h"

namespace acceld::cuda {

absl::Status Run(const ops::Memset& op, CudaContext& context) {
  if (op.bytes == 0) return absl::OkStatus();
  return context.Memset(Pointer<std::byte>(op.target), op.value, op.bytes);
}

}  // namespace acceld::cuda
