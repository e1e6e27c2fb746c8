#include <cstdint>

#include "backends/core/status.h"
#include "backends/cuda/kernels/kernel.h"
#include "backends/cuda/op_table.h"
#include "backends/cuda/ops/pointers.h"

namespace acceld::cuda {

// Where the axis is cut into segments, a second kernel folds what the first made of them.
absl::Status Run(const ops::Reduce& op, CudaContext& context) {
  const std::int64_t outputs = op.OutputCount();
  if (outputs == 0) return absl::OkStatus();
  const std::size_t axis = static_cast<std::size_t>(op.axis);
  const std::int64_t length = op.shape[axis];
  const double divisor = static_cast<double>(length);
  float* const output = Pointer<float>(op.output);
  ReduceKernel<float> kernel(op.op, op.shape.Product(0, axis), length,
                             op.shape.Product(axis + 1, op.shape.rank()), divisor,
                             Pointer<const float>(op.input), output);
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
