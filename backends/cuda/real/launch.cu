#include <cstddef>
#include <cstdint>
#include <variant>

#include "backends/cuda/real/launch.h"

namespace acceld::cuda {
namespace {

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

// Wide enough for nearly every grid; the others are several rows high.
constexpr std::int64_t kMaxGridWidth = std::int64_t{1} << 30;

template <typename K>
__global__ void __launch_bounds__(K::kThreads, K::kBlocksAtOnce)
    RunKernel(const K kernel, std::int64_t blocks) {
  extern __shared__ Float4 shared[];
  const std::int64_t index = blockIdx.y * kMaxGridWidth + blockIdx.x;
  if (index >= blocks) return;
  DeviceBlock<typename K::Registers> block(index, shared);
  kernel(block);
}

template <typename K>
cudaError_t Launch(const K& kernel, cudaStream_t stream) {
  const Grid grid = kernel.grid();
  if (grid.blocks == 0) return cudaSuccess;
  const dim3 size(static_cast<unsigned>(Smaller(grid.blocks, kMaxGridWidth)),
                  static_cast<unsigned>(CeilDivide(grid.blocks, kMaxGridWidth)));
  cudaLaunchConfig_t config{};
  config.gridDim = size;
  config.blockDim = dim3(K::kThreads);
  config.dynamicSmemBytes = static_cast<std::size_t>(grid.shared_bytes);
  config.stream = stream;
  // Returns the launch's own error. After <<<>>> there is only the thread's last one, which may be
  // of a call that somebody else made.
  return cudaLaunchKernelEx(&config, RunKernel<K>, kernel, grid.blocks);
}

}  // namespace

cudaError_t LaunchKernel(const Kernel& kernel, cudaStream_t stream) {
  return std::visit([stream](const auto& typed) { return Launch(typed, stream); }, kernel);
}

}  // namespace acceld::cuda
