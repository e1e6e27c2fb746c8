// What the errors of CUDA's runtime mean.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "backends/cuda/driver.h"

namespace acceld::cuda {

// `call` is the function that returned `error`. Takes the error from the thread, so that the next
// call does not return it again.
DriverStatus ToDriverStatus(const char* call, cudaError_t error);

// "cudaErrorNoDevice (no CUDA-capable device is detected)".
std::string Describe(cudaError_t error);

}  // namespace acceld::cuda
