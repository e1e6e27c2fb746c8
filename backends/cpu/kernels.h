// The CPU's kernels: one per op, each in the file of its op's name under ops/.
//
// The op has been checked, and its addresses are pointers. An empty output is no error.
#pragma once

#include "absl/status/status.h"
#include "backends/cpu/context.h"
#include "backends/kernel_table.h"
#include "backends/ops/op.h"

namespace acceld::cpu {

absl::Status Run(const ops::Gemm& op, CpuContext& context);
absl::Status Run(const ops::GemmMixedPrecision& op, CpuContext& context);
absl::Status Run(const ops::BatchedGemm& op, CpuContext& context);
absl::Status Run(const ops::Conv2dForward& op, CpuContext& context);
absl::Status Run(const ops::Conv2dBackwardData& op, CpuContext& context);
absl::Status Run(const ops::Conv2dBackwardFilter& op, CpuContext& context);
absl::Status Run(const ops::Attention& op, CpuContext& context);
absl::Status Run(const ops::Reduce& op, CpuContext& context);
absl::Status Run(const ops::Softmax& op, CpuContext& context);
absl::Status Run(const ops::Unary& op, CpuContext& context);
absl::Status Run(const ops::Binary& op, CpuContext& context);
absl::Status Run(const ops::Gather& op, CpuContext& context);
absl::Status Run(const ops::Scatter& op, CpuContext& context);
absl::Status Run(const ops::Memset& op, CpuContext& context);
absl::Status Run(const ops::CopyDtoD& op, CpuContext& context);

extern const KernelTable<CpuContext> kKernels;

}  // namespace acceld::cpu
