#include "backends/core/status.h"
#include "backends/cuda/kernels/kernel.h"
#include "backends/cuda/op_table.h"
#include "backends/cuda/ops/pointers.h"

namespace acceld::cuda {
namespace {

template <typename K>
absl::Status Launch(const ops::Attention& op, CudaContext& context) {
  const AttentionShape shape{
      .heads = op.batch * op.heads,
      .seq_q = op.seq_q,
      .seq_kv = op.seq_kv,
      .head_dim = op.head_dim,
      .scale = op.scale,
      .causal = op.causal,
  };
  float* const output = Pointer<float>(op.output);
  K kernel(shape, Pointer<const float>(op.q), Pointer<const float>(op.k),
           Pointer<const float>(op.v), output);
  const std::int64_t segments = kernel.segments();
  if (segments == 1) return context.Launch(kernel);
  ACCELD_ASSIGN_OR_RETURN(std::byte* const workspace,
                          context.Workspace(AttentionPartials::Bytes(shape, segments)));
  const AttentionPartials partials = AttentionPartials::In(workspace, shape, segments);
  kernel.set_partials(partials);
  ACCELD_RETURN_IF_ERROR(context.Launch(kernel));
  return context.Launch(AttentionMergeKernel(shape, segments, partials, output));
}

}  // namespace

absl::Status Run(const ops::Attention& op, CudaContext& context) {
  if (op.seq_q <= kFewQueries) return Launch<FewQueriesAttentionKernel>(op, context);
  // The fewer outputs a thread keeps, the more blocks are there at once.
  if (op.head_dim <= 64) return Launch<AttentionKernel<64>>(op, context);
  if (op.head_dim <= 128) return Launch<AttentionKernel<128>>(op, context);
  return Launch<AttentionKernel<256>>(op, context);
}

}  // namespace acceld::cuda
