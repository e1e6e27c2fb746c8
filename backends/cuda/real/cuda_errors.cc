#include "backends/cuda/real/cuda_errors.h"

#include <string>

#include "fmt/format.h"

namespace acceld::cuda {
namespace {

DriverCode ToCode(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return DriverCode::kOk;
    case cudaErrorNotReady:
      return DriverCode::kNotReady;
    case cudaErrorMemoryAllocation:
      return DriverCode::kOutOfMemory;
    case cudaErrorNotSupported:
      return DriverCode::kUnsupported;
    // After these, says CUDA's manual, every further call of the process returns the same error.
    case cudaErrorAssert:
    case cudaErrorContained:
    case cudaErrorContextIsDestroyed:
    case cudaErrorECCUncorrectable:
    case cudaErrorExternalDevice:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorMisalignedAddress:
    case cudaErrorMpsClientTerminated:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorTensorMemoryLeak:
      return DriverCode::kDeviceLost;
    default:
      return DriverCode::kFailed;
  }
}

}  // namespace

std::string Describe(cudaError_t error) {
  return fmt::format("{} ({})", cudaGetErrorName(error), cudaGetErrorString(error));
}

DriverStatus ToDriverStatus(const char* call, cudaError_t error) {
  if (error == cudaSuccess) return {};
  (void)cudaGetLastError();
  // Asked for all the time, and no error.
  if (error == cudaErrorNotReady) return {.code = DriverCode::kNotReady, .call = call};
  return {.code = ToCode(error), .call = call, .detail = Describe(error)};
}

}  // namespace acceld::cuda
