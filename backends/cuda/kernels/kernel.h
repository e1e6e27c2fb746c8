// Every kernel of the cuda device as data; see grid.h for what a kernel is. A driver that launches
// one visits the variant; run_on_host.h runs it on the host.
#pragma once

#include <variant>

#include "backends/cuda/kernels/attention.h"
#include "backends/cuda/kernels/attention_merge.h"
#include "backends/cuda/kernels/binary.h"
#include "backends/cuda/kernels/copy_rows.h"
#include "backends/cuda/kernels/grid.h"
#include "backends/cuda/kernels/reduce.h"
#include "backends/cuda/kernels/round.h"
#include "backends/cuda/kernels/scale.h"
#include "backends/cuda/kernels/softmax.h"
#include "backends/cuda/kernels/unary.h"

namespace acceld::cuda {

struct Kernel final
    : std::variant<UnaryKernel, BinaryKernel, CopyRowsKernel, ScaleKernel<float>,
                   ScaleKernel<double>, RoundKernel, ReduceKernel<float>, ReduceKernel<double>,
                   SoftmaxKernel, AttentionKernel<64>, AttentionKernel<128>, AttentionKernel<256>,
                   FewQueriesAttentionKernel, AttentionMergeKernel> {
  using variant::variant;
};

}  // namespace acceld::cuda
