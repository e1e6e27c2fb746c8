// CUDA, cuBLAS and cuDNN called directly, without acceld: what its card is measured against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/kernels/kernel.h"

namespace acceld::bench {

// One stream of card 0. What is submitted is asynchronous.
class Direct {
 public:
  virtual ~Direct() = default;

  // Device memory, and pinned memory of the host, for the life of this object; undefined contents.
  virtual absl::StatusOr<std::byte*> Allocate(std::uint64_t bytes) = 0;
  virtual absl::StatusOr<std::byte*> AllocatePinned(std::uint64_t bytes) = 0;

  // The host's memory is pinned.
  virtual absl::Status CopyToDevice(std::byte* target, const std::byte* source,
                                    std::uint64_t bytes) = 0;
  virtual absl::Status CopyToHost(std::byte* target, const std::byte* source,
                                  std::uint64_t bytes) = 0;
  virtual absl::Status CopyOnDevice(std::byte* target, const std::byte* source,
                                    std::uint64_t bytes) = 0;

  virtual absl::Status Launch(const cuda::Kernel& kernel) = 0;

  // By cuBLAS as it comes, but without TF32, which has half the digits of f32. The call's workspace
  // is not looked at.
  virtual absl::Status Gemm(const cuda::GemmCall& call) = 0;

  // Of which cuDNN's: those that acceld may take, or any.
  enum class Algorithms { kAllowed, kAny };

  // A convolution that can be submitted again and again, by the algorithm of these that cuDNN's
  // heuristics put first, without TF32; the call's workspace is not looked at.
  virtual absl::StatusOr<std::function<absl::Status()>> MakeConvolution(
      const cuda::ConvolutionKey& key, Algorithms algorithms,
      const cuda::ConvolutionCall& call) = 0;

  virtual absl::Status Synchronize() = 0;
};

// Which one it is, is decided by what the program is linked with: direct_on_card.cc, or, to see
// whether the figures work where there is no card, direct_on_host.cc.
absl::StatusOr<std::unique_ptr<Direct>> OpenDirect();

}  // namespace acceld::bench
