// One convolution for cuDNN: its descriptors, and the algorithm that was chosen for it.
#pragma once

#include <cudnn.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/cuda/driver.h"
#include "backends/cuda/real/cudnn_functions.h"

namespace acceld::cuda {

// Whether an algorithm computes each result from what the formula names and nothing else.
// Winograd's and those of Fourier's transform do not: a NaN or an infinity spreads to whole tiles,
// and cancels digits there. Winograd's on tiles of 4 x 4 outputs also errs 3 to 7 times as much as
// direct convolution (Lavin and Gray, 2016, table 4).
bool KeepsNeighboursApart(cudnnConvolutionFwdAlgo_t algorithm);
bool KeepsNeighboursApart(cudnnConvolutionBwdDataAlgo_t algorithm);
bool KeepsNeighboursApart(cudnnConvolutionBwdFilterAlgo_t algorithm);

// Immutable once its algorithm is chosen.
class Convolution {
 public:
  // `functions` outlives the convolution. Describe and Choose come next.
  Convolution(const CudnnFunctions& functions, const ConvolutionKey& key)
      : functions_(functions), key_(key) {}
  ~Convolution();
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  // Makes the descriptors.
  DriverStatus Describe();
  // Takes of the algorithms that cuDNN's heuristics offer the first that gives the same bits every
  // time, keeps neighbours apart and is small enough; else the plainest there is. kUnsupported
  // where that does not do either.
  DriverStatus Choose(cudnnHandle_t handle);

  // Of the enum of the key's kind.
  int algorithm() const { return algorithm_; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }

  // In the handle's stream.
  DriverStatus Run(cudnnHandle_t handle, const ConvolutionCall& call) const;

 private:
  // The most algorithms that any of the three have.
  static constexpr int kMaxAlgorithms = 2 * CUDNN_CONVOLUTION_FWD_ALGO_COUNT;

  // The algorithms that cuDNN offers, the quickest first.
  struct Offers {
    int count = 0;
    std::array<int, kMaxAlgorithms> algorithms{};
  };

  // Whether `algorithm` does, which is then the one.
  bool Take(cudnnHandle_t handle, int algorithm);
  DriverStatus FindOffers(cudnnHandle_t handle, Offers& offers) const;
  // The workspace of `algorithm`; an error where it does not do.
  cudnnStatus_t WorkspaceOf(cudnnHandle_t handle, int algorithm, std::size_t& bytes) const;

  const CudnnFunctions& functions_;
  const ConvolutionKey key_;
  cudnnTensorDescriptor_t input_ = nullptr;
  cudnnTensorDescriptor_t output_ = nullptr;
  cudnnFilterDescriptor_t filter_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
  int algorithm_ = 0;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace acceld::cuda
