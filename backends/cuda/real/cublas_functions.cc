#include "backends/cuda/real/cublas_functions.h"

#include "backends/cuda/real/shared_library.h"
#include "fmt/format.h"

namespace acceld::cuda {

DriverStatus CublasFunctions::Open() {
  SharedLibrary library;
  DriverStatus status = library.Open(fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR),
                                     fmt::format("cuBLAS {}", CUBLAS_VER_MAJOR));
  const auto find = [&](const char* name, auto*& function) {
    if (status.ok()) status = library.Find(name, function);
  };
  find("cublasCreate_v2", create);
  find("cublasDestroy_v2", destroy);
  find("cublasGetStatusName", status_name);
  find("cublasGetStatusString", status_string);
  find("cublasSetMathMode", set_math_mode);
  find("cublasSetStream_v2", set_stream);
  find("cublasSetWorkspace_v2", set_workspace);
  find("cublasGemmEx_64", gemm);
  find("cublasGemmStridedBatchedEx_64", batched_gemm);
  return status;
}

DriverStatus CublasFunctions::ToStatus(const char* call, cublasStatus_t status) const {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  DriverCode code = DriverCode::kFailed;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) code = DriverCode::kOutOfMemory;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) {
    code = DriverCode::kUnsupported;
  }
  return {.code = code,
          .call = call,
          .detail = fmt::format("{} ({})", status_name(status), status_string(status))};
}

}  // namespace acceld::cuda
