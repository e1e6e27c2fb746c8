// The cuda device's kernels: one per op, each in the file of its op's name under ops/.
//
// The op has been checked, and its addresses are pointers into device memory. An empty output is no
// error.
#pragma once

#include "absl/status/status.h"
#include "backends/cuda/context.h"
#include "backends/kernel_table.h"
#include "backends/ops/op.h"

namespace acceld::cuda {

absl::Status Run(const ops::Gemm& op, CudaContext& context);
absl::Status Run(const ops::GemmMixedPrecision& op, CudaContext& context);
absl::Status Run(const ops::BatchedGemm& op, CudaContext& context);
absl::Status Run(const ops::Conv2dForward& op, CudaContext& context);
absl::Status Run(const ops::Conv2dBackwardData& op, CudaContext& context);
absl::Status Run(const ops::Conv2dBackwardFilter& op, CudaContext& context);
absl::Status Run(const ops::Attention& op, CudaContext& context);
absl::Status Run(const ops::Reduce& op, CudaContext& context);
absl::Status Run(const ops::Softmax& op, CudaContext& context);
absl::Status Run(const ops::Unary& op, CudaContext& context);
absl::Status Run(const ops::Binary& op, CudaContext& context);
absl::Status Run(const ops::Gather& op, CudaContext& context);
absl::Status Run(const ops::Scatter& op, CudaContext& context);
absl::Status Run(const ops::Memset& op, CudaContext& context);
absl::Status Run(const ops::CopyDtoD& op, CudaContext& context);

extern const KernelTable<CudaContext> kOps;

// As kOps.Run; out of memory where the host has no more.
absl::Status RunOp(const Op& op, CudaContext& context);

}  // namespace acceld::cuda
