// The functions of cuBLAS that are used.
#pragma once

#include <cublas_v2.h>

#include "backends/cuda/driver.h"

namespace acceld::cuda {

struct CublasFunctions {
  decltype(cublasCreate_v2)* create;
  decltype(cublasDestroy_v2)* destroy;
  decltype(cublasGetStatusName)* status_name;
  decltype(cublasGetStatusString)* status_string;
  decltype(cublasSetMathMode)* set_math_mode;
  decltype(cublasSetStream_v2)* set_stream;
  decltype(cublasSetWorkspace_v2)* set_workspace;
  decltype(cublasGemmEx_64)* gemm;
  decltype(cublasGemmStridedBatchedEx_64)* batched_gemm;

  // Opens cuBLAS; kMissing where that, or one of the functions, is not there.
  DriverStatus Open();

  // What the function `call` returned.
  DriverStatus ToStatus(const char* call, cublasStatus_t status) const;
};

}  // namespace acceld::cuda
