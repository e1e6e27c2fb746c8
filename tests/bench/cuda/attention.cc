// Attention on the card, in TFLOP/s, against its two matrix products by cuBLAS, of full size also
// where it is causal and so has half the work.

#include <cmath>

#include "backends/core/status.h"
#include "tests/bench/cuda/card.h"
#include "tests/bench/cuda/figures.h"

namespace acceld::bench {
namespace {

constexpr std::int64_t kBatch = 4;
constexpr std::int64_t kHeads = 16;
constexpr std::int64_t kSequence = 2048;

struct Shape {
  std::int64_t head_dim = 64;
  bool causal = false;
};

absl::StatusOr<Measurement> Attention(const Setting& setting, const Shape& shape) {
  const std::int64_t batch = setting.quick ? 1 : kBatch;
  const std::int64_t heads = setting.quick ? 2 : kHeads;
  const std::int64_t sequence = setting.quick ? 32 : kSequence;
  const std::int64_t head_dim = shape.head_dim;
  const std::int64_t count = batch * heads * sequence * head_dim;
  const float scale = 1 / std::sqrt(static_cast<float>(head_dim));
  ACCELD_ASSIGN_OR_RETURN(const Card card, Card::Open());
  ComputeBackend& backend = *card.backend;
  Direct& direct = *card.direct;

  ops::Attention op{.batch = batch,
                    .heads = heads,
                    .seq_q = sequence,
                    .seq_kv = sequence,
                    .head_dim = head_dim,
                    .scale = scale,
                    .causal = shape.causal};
  ACCELD_ASSIGN_OR_RETURN(op.q, RandomArray<float>(backend, count));
  ACCELD_ASSIGN_OR_RETURN(op.k, RandomArray<float>(backend, count));
  ACCELD_ASSIGN_OR_RETURN(op.v, RandomArray<float>(backend, count));
  ACCELD_ASSIGN_OR_RETURN(op.output, RandomArray<float>(backend, count));

  // Row-major [sequence, head_dim] is column-major [head_dim, sequence]: scores^T = k q^T, and
  // output^T = v^T scores^T.
  cuda::GemmCall scores{.transpose_a = true,
                        .m = sequence,
                        .n = sequence,
                        .k = head_dim,
                        .alpha = scale,
                        .lda = head_dim,
                        .stride_a = sequence * head_dim,
                        .ldb = head_dim,
                        .stride_b = sequence * head_dim,
                        .ldc = sequence,
                        .stride_c = sequence * sequence,
                        .batch = batch * heads};
  cuda::GemmCall output{.m = head_dim,
                        .n = sequence,
                        .k = sequence,
                        .lda = head_dim,
                        .stride_a = sequence * head_dim,
                        .ldb = sequence,
                        .stride_b = sequence * sequence,
                        .ldc = head_dim,
                        .stride_c = sequence * head_dim,
                        .batch = batch * heads};
  ACCELD_ASSIGN_OR_RETURN(scores.a, RandomArray<float>(direct, count));
  ACCELD_ASSIGN_OR_RETURN(scores.b, RandomArray<float>(direct, count));
  ACCELD_ASSIGN_OR_RETURN(scores.c,
                          RandomArray<float>(direct, batch * heads * sequence * sequence));
  ACCELD_ASSIGN_OR_RETURN(output.a, RandomArray<float>(direct, count));
  output.b = scores.c;
  ACCELD_ASSIGN_OR_RETURN(output.c, RandomArray<float>(direct, count));

  const double work = 4e-12 * static_cast<double>(count) * static_cast<double>(sequence);
  return CompareRates(
      setting,
      OnBackend(backend, shape.causal ? work / 2 : work, [&] { return backend.Attention(op); }),
      OnDirect(direct, work, [&] {
        ACCELD_RETURN_IF_ERROR(direct.Gemm(scores));
        return direct.Gemm(output);
      }));
}

Figure Of(const char* name, const Shape& shape) {
  return {name, "ratio", "TFLOP/s",
          [shape](const Setting& setting) { return Attention(setting, shape); }};
}

}  // namespace

std::vector<Figure> CardAttentionFigures() {
  return {Of("attention_f32_b4h16s2048d64_vs_gemms", {.head_dim = 64}),
          Of("attention_f32_b4h16s2048d128_vs_gemms", {.head_dim = 128}),
          Of("attention_causal_f32_b4h16s2048d64_vs_gemms", {.head_dim = 64, .causal = true})};
}

}  // namespace acceld::bench
