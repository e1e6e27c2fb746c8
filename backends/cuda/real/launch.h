// Launches kernels on a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/kernel.h"

namespace acceld::cuda {

// Launches `kernel` in `stream` of the current device; nothing for a grid without blocks.
cudaError_t LaunchKernel(const Kernel& kernel, cudaStream_t stream);

}  // namespace acceld::cuda
