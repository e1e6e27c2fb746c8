#include "backends/cuda/op_table.h"

namespace acceld::cuda {
namespace {

template <typename OpType>
constexpr absl::Status (*kRun)(const OpType&, CudaContext&) = &Run;

}  // namespace

// In the order of Op: gemm, gemm_mixed_precision, batched_gemm, conv2d_forward,
// conv2d_backward_data, conv2d_backward_filter, attention, reduce, softmax, unary, binary, gather,
// scatter, memset, copy_dtod.
constinit const KernelTable<CudaContext> kOps(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                              nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                              nullptr, kRun<ops::Memset>, kRun<ops::CopyDtoD>);

}  // namespace acceld::cuda
