#include <cstdint>

#include "backends/core/status.h"
#include "backends/cuda/kernels/kernel.h"
#include "backends/cuda/op_table.h"
#include "backends/cuda/ops/pointers.h"
#include "backends/cuda/ops/row_indices.h"

namespace acceld::cuda {

absl::Status Run(const ops::Gather& op, CudaContext& context) {
  if (op.columns == 0 || op.indices.empty()) return absl::OkStatus();
  ACCELD_ASSIGN_OR_RETURN(const std::int64_t* const rows, UploadRows(op.indices, context));
  return context.Launch(CopyRowsKernel(std::ssize(op.indices), op.columns,
                                       Pointer<const float>(op.table), {rows, op.rows},
                                       Pointer<float>(op.output), /*target_rows=*/{}));
}

}  // namespace acceld::cuda
