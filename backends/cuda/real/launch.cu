#include <cstdint>
#include <limits>
#include <variant>

#include "backends/cuda/real/launch.h"

namespace acceld::cuda {
namespace {

// More needs to be asked for, by kernel.
constexpr int kPlainSharedBytes = 48 * 1024;

// A block of a kernel on the GPU; see kernels/grid.h.
template <typename Registers>
class DeviceBlock {
 public:
  __device__ DeviceBlock(std::int64_t index, Float4* shared) : index_(index), shared_(shared) {}

  __device__ std::int64_t index() const { return index_; }

  template <typename T>
  __device__ T* shared() {
    return reinterpret_cast<T*>(shared_);
  }

  template <typename Body>
  __device__ __forceinline__ void Phase(Body&& body) {
    body(static_cast<int>(threadIdx.x), registers_);
    __syncthreads();
  }

 private:
  const std::int64_t index_;
  Float4* const shared_;
  Registers registers_;
};

template <typename K>
__global__ void __launch_bounds__(kMaxThreads) RunKernel(const K kernel, std::int64_t blocks) {
  extern __shared__ Float4 shared[];
  for (std::int64_t i = blockIdx.x; i < blocks; i += gridDim.x) {
    DeviceBlock<typename K::Registers> block(i, shared);
    kernel(block);
  }
}

template <typename K>
cudaError_t Launch(const K& kernel, cudaStream_t stream) {
  const Grid grid = kernel.grid();
  if (grid.blocks == 0) return cudaSuccess;
  if (grid.shared_bytes > kPlainSharedBytes) {
    const cudaError_t error = cudaFuncSetAttribute(
        RunKernel<K>, cudaFuncAttributeMaxDynamicSharedMemorySize, grid.shared_bytes);
    if (error != cudaSuccess) return error;
  }
  constexpr std::int64_t kMaxBlocks = std::numeric_limits<int>::max();
  const unsigned blocks = static_cast<unsigned>(Smaller(grid.blocks, kMaxBlocks));
  RunKernel<K><<<blocks, grid.threads, grid.shared_bytes, stream>>>(kernel, grid.blocks);
  return cudaGetLastError();
}

}  // namespace

cudaError_t LaunchKernel(const Kernel& kernel, cudaStream_t stream) {
  return std::visit([stream](const auto& typed) { return Launch(typed, stream); }, kernel);
}

}  // namespace acceld::cuda
