#include "backends/cuda/kernels/kernel.h"
#include "backends/cuda/op_table.h"
#include "backends/cuda/ops/pointers.h"

namespace acceld::cuda {
namespace {

template <int kDims>
absl::Status Launch(const ops::Attention& op, CudaContext& context) {
  const AttentionShape shape{
      .heads = op.batch * op.heads,
      .seq_q = op.seq_q,
      .seq_kv = op.seq_kv,
      .head_dim = op.head_dim,
      .scale = op.scale,
      .causal = op.causal,
  };
  return context.Launch(
      AttentionKernel<kDims>(shape, Pointer<const float>(op.q), Pointer<const float>(op.k),
                             Pointer<const float>(op.v), Pointer<float>(op.output)));
}

}  // namespace

// The fewer outputs a thread keeps, the more blocks are there at once.
absl::Status Run(const ops::Attention& op, CudaContext& context) {
  if (op.head_dim <= 64) return Launch<64>(op, context);
  if (op.head_dim <= 128) return Launch<128>(op, context);
  return Launch<256>(op, context);
}

}  // namespace acceld::cuda
