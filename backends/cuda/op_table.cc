#include "backends/cuda/op_table.h"

#include <new>

#include "backends/core/status.h"

namespace acceld::cuda {
namespace {

template <typename OpType>
constexpr absl::Status (*kRun)(const OpType&, CudaContext&) = &Run;

}  // namespace

constinit const KernelTable<CudaContext> kOps(kRun<ops::Gemm>, kRun<ops::GemmMixedPrecision>,
                                              kRun<ops::BatchedGemm>, kRun<ops::Conv2dForward>,
                                              kRun<ops::Conv2dBackwardData>,
                                              kRun<ops::Conv2dBackwardFilter>, kRun<ops::Attention>,
                                              kRun<ops::Reduce>, kRun<ops::Softmax>,
                                              kRun<ops::Unary>, kRun<ops::Binary>,
                                              kRun<ops::Gather>, kRun<ops::Scatter>,
                                              kRun<ops::Memset>, kRun<ops::CopyDtoD>);

absl::Status RunOp(const Op& op, CudaContext& context) {
  try {
    return kOps.Run(op, context);
  } catch (const std::bad_alloc&) {
    return OutOfMemory("The host has no memory left for the work of an op.");
  }
}

}  // namespace acceld::cuda
