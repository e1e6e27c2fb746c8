#include <cstdint>

#include "backends/core/status.h"
#include "backends/cuda/kernels/kernel.h"
#include "backends/cuda/kernels/reduce_rows.h"
#include "backends/cuda/op_table.h"
#include "backends/cuda/ops/pointers.h"

namespace acceld::cuda {

// Rows that are long enough are CUB's. Elsewhere, where the axis is cut into segments, a second
// kernel folds what the first made of them.
absl::Status Run(const ops::Reduce& op, CudaContext& context) {
  const std::int64_t outputs = op.OutputCount();
  if (outputs == 0) return absl::OkStatus();
  const std::size_t axis = static_cast<std::size_t>(op.axis);
  const std::int64_t outer = op.shape.Product(0, axis);
  const std::int64_t length = op.shape[axis];
  const std::int64_t inner = op.shape.Product(axis + 1, op.shape.rank());
  const float* const input = Pointer<const float>(op.input);
  float* const output = Pointer<float>(op.output);
  if (inner == 1 && length >= ReductionCall::kMinLength) {
    return context.Reduce(
        {.op = op.op, .rows = outer, .length = length, .input = input, .output = output});
  }
  const double divisor = static_cast<double>(length);
  ReduceKernel<float> kernel(op.op, outer, length, inner, divisor, input, output);
  const std::int64_t segments = kernel.segments();
  if (segments == 1) return context.Launch(kernel);
  ACCELD_ASSIGN_OR_RETURN(
      std::byte* const workspace,
      context.Workspace(static_cast<std::uint64_t>(segments * outputs) * sizeof(double)));
  double* const partials = reinterpret_cast<double*>(workspace);
  kernel.set_partials(partials);
  ACCELD_RETURN_IF_ERROR(context.Launch(kernel));
  return context.Launch(ReduceKernel<double>(op.op, /*outer=*/1, segments, /*inner=*/outputs,
                                             divisor, partials, output));
}

}  // namespace acceld::cuda
