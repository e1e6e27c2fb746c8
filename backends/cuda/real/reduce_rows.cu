#include <cstddef>

#include "backends/cuda/real/reduce_rows.h"

// Else CUB looks for a profiler to tell.
#define CCCL_DISABLE_NVTX
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/util_device.cuh>

namespace acceld::cuda {
namespace {

// By one launch, which waits for nothing and allocates nothing, so that a graph can be captured.
class SegmentFolder {
 public:
  SegmentFolder(std::byte* storage, cudaStream_t stream) : storage_(storage), stream_(stream) {}

  cudaError_t error() const { return error_; }

  template <typename T, typename Combine>
  bool operator()(const FoldedElements<T>& elements, const FoldedResults& results,
                  const RowPieces& pieces, Combine combine) {
    const PieceBegins begins(pieces);
    const auto reduce = [&](void* storage, std::size_t& bytes) {
      return cub::DeviceSegmentedReduce::Reduce(storage, bytes, elements, results, pieces.count(),
                                                begins, begins + 1, combine, Combine::kStart,
                                                stream_);
    };
    std::size_t bytes = 0;
    // Without storage it says how much it needs, and does nothing.
    error_ = reduce(nullptr, bytes);
    if (error_ == cudaSuccess && bytes > ReductionCall::kLibraryBytes) {
      error_ = cudaErrorInvalidValue;
    }
    if (error_ == cudaSuccess) error_ = reduce(storage_, bytes);
    return error_ == cudaSuccess;
  }

 private:
  std::byte* const storage_;
  const cudaStream_t stream_;
  cudaError_t error_ = cudaSuccess;
};

}  // namespace

cudaError_t PrepareReductions() {
  (void)cudaGetLastError();
  int version = 0;
  return cub::PtxVersion(version);
}

cudaError_t ReduceRows(const ReductionCall& call, cudaStream_t stream) {
  // CUB takes the thread's last error for one of its own, and that may be of a call that somebody
  // else made. Where the context is gone, it stays.
  (void)cudaGetLastError();
  SegmentFolder folder(call.workspace, stream);
  call.Run(folder);
  return folder.error();
}

}  // namespace acceld::cuda
