#include "backends/cuda/real/cudnn_functions.h"

#include <cuda_runtime_api.h>

#include "backends/cuda/real/shared_library.h"
#include "fmt/format.h"

namespace acceld::cuda {

DriverStatus CudnnFunctions::Open() {
  SharedLibrary library;
  DriverStatus status =
      library.Open(fmt::format("libcudnn.so.{}", CUDNN_MAJOR),
                   fmt::format("cuDNN {} for CUDA {}", CUDNN_MAJOR, CUDART_VERSION / 1000));
  const auto find = [&](const char* name, auto*& function) {
    if (status.ok()) status = library.Find(name, function);
  };
  find("cudnnCreate", create);
  find("cudnnDestroy", destroy);
  find("cudnnSetStream", set_stream);
  find("cudnnGetErrorString", error_string);
  find("cudnnCreateTensorDescriptor", create_tensor);
  find("cudnnDestroyTensorDescriptor", destroy_tensor);
  find("cudnnSetTensor4dDescriptor", set_tensor);
  find("cudnnCreateFilterDescriptor", create_filter);
  find("cudnnDestroyFilterDescriptor", destroy_filter);
  find("cudnnSetFilter4dDescriptor", set_filter);
  find("cudnnCreateConvolutionDescriptor", create_convolution);
  find("cudnnDestroyConvolutionDescriptor", destroy_convolution);
  find("cudnnSetConvolution2dDescriptor", set_convolution);
  find("cudnnSetConvolutionMathType", set_math_type);
  find("cudnnGetConvolutionForwardAlgorithm_v7", forward_algorithms);
  find("cudnnGetConvolutionForwardWorkspaceSize", forward_workspace);
  find("cudnnConvolutionForward", forward);
  find("cudnnGetConvolutionBackwardDataAlgorithm_v7", backward_data_algorithms);
  find("cudnnGetConvolutionBackwardDataWorkspaceSize", backward_data_workspace);
  find("cudnnConvolutionBackwardData", backward_data);
  find("cudnnGetConvolutionBackwardFilterAlgorithm_v7", backward_filter_algorithms);
  find("cudnnGetConvolutionBackwardFilterWorkspaceSize", backward_filter_workspace);
  find("cudnnConvolutionBackwardFilter", backward_filter);
  return status;
}

DriverStatus CudnnFunctions::ToStatus(const char* call, cudnnStatus_t status) const {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  DriverCode code = DriverCode::kFailed;
  // What is wrong has been refused before; what it still calls so, it cannot do.
  if (CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED ||
      CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_BAD_PARAM) {
    code = DriverCode::kUnsupported;
  }
  // What was CUDNN_STATUS_ALLOC_FAILED, which said nothing of whose memory, is the host's by its
  // name.
  if (status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED) {
    code = DriverCode::kOutOfMemory;
  }
  return {.code = code, .call = call, .detail = error_string(status)};
}

}  // namespace acceld::cuda
