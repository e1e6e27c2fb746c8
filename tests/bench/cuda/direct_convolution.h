// A convolution by cuDNN, with whatever algorithm its heuristics put first.
#pragma once

#include <cudnn.h>

#include <cstddef>

#include "backends/cuda/driver.h"
#include "backends/cuda/real/cudnn_functions.h"

namespace acceld::bench {

class DirectConvolution {
 public:
  // Both outlive the convolution. Init comes next.
  DirectConvolution(const cuda::CudnnFunctions& cudnn, cudnnHandle_t handle,
                    const cuda::ConvolutionKey& key)
      : cudnn_(cudnn), handle_(handle), key_(key) {}
  ~DirectConvolution();
  DirectConvolution(const DirectConvolution&) = delete;
  DirectConvolution& operator=(const DirectConvolution&) = delete;

  cuda::DriverStatus Init();

  std::size_t workspace_bytes() const { return workspace_bytes_; }

  // In the handle's stream.
  cuda::DriverStatus Run(const cuda::ConvolutionCall& call) const;

 private:
  cudnnStatus_t Describe();
  cudnnStatus_t Choose();

  const cuda::CudnnFunctions& cudnn_;
  const cudnnHandle_t handle_;
  const cuda::ConvolutionKey key_;
  cudnnTensorDescriptor_t input_ = nullptr;
  cudnnTensorDescriptor_t output_ = nullptr;
  cudnnFilterDescriptor_t filter_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
  // Of the kind's enum.
  int algorithm_ = 0;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace acceld::bench
