// A convolution by cuDNN, with the algorithm that its heuristics put first.
#pragma once

#include <cudnn.h>

#include <cstddef>

#include "backends/cuda/driver.h"
#include "backends/cuda/real/cudnn_functions.h"

namespace acceld::bench {

class DirectConvolution {
 public:
  // Both outlive the convolution. Without `any_algorithm`, it is one that acceld may take. Init
  // comes next.
  DirectConvolution(const cuda::CudnnFunctions& cudnn, cudnnHandle_t handle,
                    const cuda::ConvolutionKey& key, bool any_algorithm)
      : cudnn_(cudnn), handle_(handle), key_(key), any_algorithm_(any_algorithm) {}
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
  // Takes the first of `count` offers that may be taken.
  template <typename Offer>
  cudnnStatus_t Take(cudnnStatus_t asked, const Offer* offers, int count);

  const cuda::CudnnFunctions& cudnn_;
  const cudnnHandle_t handle_;
  const cuda::ConvolutionKey key_;
  const bool any_algorithm_;
  cudnnTensorDescriptor_t input_ = nullptr;
  cudnnTensorDescriptor_t output_ = nullptr;
  cudnnFilterDescriptor_t filter_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
  // Of the kind's enum.
  int algorithm_ = 0;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace acceld::bench
