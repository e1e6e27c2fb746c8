#include <cstdint>

#include "backends/core/status.h"
#include "backends/cuda/kernels/kernel.h"
#include "backends/cuda/op_table.h"
#include "backends/cuda/ops/pointers.h"

namespace acceld::cuda {

absl::Status Run(const ops::Softmax& op, CudaContext& context) {
  const std::size_t axis = static_cast<std::size_t>(op.axis);
  const std::int64_t outer = op.shape.Product(0, axis);
  const std::int64_t length = op.shape[axis];
  const std::int64_t inner = op.shape.Product(axis + 1, op.shape.rank());
  if (outer == 0 || length == 0 || inner == 0) return absl::OkStatus();
  SoftmaxKernel kernel(outer, length, inner, Pointer<const float>(op.input),
                       Pointer<float>(op.output));
  if (kernel.segments() == 1) return context.Launch(kernel);
  ACCELD_ASSIGN_OR_RETURN(
      std::byte* const workspace,
      context.Workspace(static_cast<std::uint64_t>(kernel.segments() * outer * inner) *
                        sizeof(ExponentialSum)));
  ExponentialSum* const partials = reinterpret_cast<ExponentialSum*>(workspace);
  kernel.set_step(SoftmaxKernel::Step::kAddUp, partials);
  ACCELD_RETURN_IF_ERROR(context.Launch(kernel));
  kernel.set_step(SoftmaxKernel::Step::kWrite, partials);
  return context.Launch(kernel);
}

}  // namespace acceld::cuda
