// Folds rows on a GPU, by CUB.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/reduce_rows.h"

namespace acceld::cuda {

// What CUB keeps of the current device from its first call on, be it an error. So it comes when the
// device is opened, when there is memory for CUB's code.
cudaError_t PrepareReductions();

// Folds the rows in `stream` of the current device.
cudaError_t ReduceRows(const ReductionCall& call, cudaStream_t stream);

}  // namespace acceld::cuda
