// The functions of cuDNN that are used.
#pragma once

#include <cudnn.h>

#include "backends/cuda/driver.h"

namespace acceld::cuda {

struct CudnnFunctions {
  decltype(cudnnCreate)* create;
  decltype(cudnnDestroy)* destroy;
  decltype(cudnnSetStream)* set_stream;
  decltype(cudnnGetErrorString)* error_string;

  decltype(cudnnCreateTensorDescriptor)* create_tensor;
  decltype(cudnnDestroyTensorDescriptor)* destroy_tensor;
  decltype(cudnnSetTensor4dDescriptor)* set_tensor;
  decltype(cudnnCreateFilterDescriptor)* create_filter;
  decltype(cudnnDestroyFilterDescriptor)* destroy_filter;
  decltype(cudnnSetFilter4dDescriptor)* set_filter;
  decltype(cudnnCreateConvolutionDescriptor)* create_convolution;
  decltype(cudnnDestroyConvolutionDescriptor)* destroy_convolution;
  decltype(cudnnSetConvolution2dDescriptor)* set_convolution;
  decltype(cudnnSetConvolutionMathType)* set_math_type;

  decltype(cudnnGetConvolutionForwardAlgorithm_v7)* forward_algorithms;
  decltype(cudnnGetConvolutionForwardWorkspaceSize)* forward_workspace;
  decltype(cudnnConvolutionForward)* forward;
  decltype(cudnnGetConvolutionBackwardDataAlgorithm_v7)* backward_data_algorithms;
  decltype(cudnnGetConvolutionBackwardDataWorkspaceSize)* backward_data_workspace;
  decltype(cudnnConvolutionBackwardData)* backward_data;
  decltype(cudnnGetConvolutionBackwardFilterAlgorithm_v7)* backward_filter_algorithms;
  decltype(cudnnGetConvolutionBackwardFilterWorkspaceSize)* backward_filter_workspace;
  decltype(cudnnConvolutionBackwardFilter)* backward_filter;

  // Opens cuDNN; kMissing where that, or one of the functions, is not there.
  DriverStatus Open();

  // What the function `call` returned.
  DriverStatus ToStatus(const char* call, cudnnStatus_t status) const;
};

}  // namespace acceld::cuda
