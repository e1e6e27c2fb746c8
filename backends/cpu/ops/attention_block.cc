#include "backends/cpu/ops/attention_block.h"

#include <limits>

#include "backends/core/status.h"
#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/matrix_product.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/ops/vector_math.h"

namespace acceld::cpu {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Independent partial results, so that loops are vectorized. A row of scores is filled up to a
// multiple of it with keys of no weight; a row of few keys has fewer.
constexpr std::int64_t kLanes = 32;
constexpr std::int64_t kFewLanes = 8;

// Where not every query sees every key, so many queries at a time share the product over the keys
// that all of them see.
constexpr std::int64_t kStrip = 32;

constexpr std::int64_t RoundUp(std::int64_t n, std::int64_t lanes) {
  return (n + lanes - 1) / lanes * lanes;
}

// A row of a block's scores is so long.
std::int64_t ScoresPitch(const ops::Attention& op) {
  if (op.seq_kv <= kFewLanes) return kFewLanes;
  return std::min(kKeyBlock, RoundUp(op.seq_kv, kLanes));
}

// The largest of `n` scores, a multiple of kWidth; NaN counts as minus infinity.
template <std::int64_t kWidth>
ACCELD_INLINE float Largest(const float* x, std::int64_t n) {
  float lanes[kWidth];
  for (float& lane : lanes) lane = kMinusInfinity;
  for (std::int64_t i = 0; i < n; i += kWidth) {
    for (std::int64_t lane = 0; lane < kWidth; ++lane) {
      lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
    }
  }
  for (std::int64_t width = kWidth / 2; width > 0; width /= 2) {
    for (std::int64_t lane = 0; lane < width; ++lane) {
      const float other = lanes[lane + width];
      lanes[lane] = other > lanes[lane] ? other : lanes[lane];
    }
  }
  return lanes[0];
}

// Replaces `n` scores, a multiple of kWidth, by e^(scale (score - shift)), and returns their sum.
template <std::int64_t kWidth>
ACCELD_INLINE float ExpAndSum(float shift, float scale, float* x, std::int64_t n) {
  float lanes[kWidth] = {};
  for (std::int64_t i = 0; i < n; i += kWidth) {
    for (std::int64_t lane = 0; lane < kWidth; ++lane) {
      x[i + lane] = Exp((x[i + lane] - shift) * scale);
      lanes[lane] += x[i + lane];
    }
  }
  for (std::int64_t width = kWidth / 2; width > 0; width /= 2) {
    for (std::int64_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

// What is subtracted from the scores. While all are minus infinity it is 0, so that infinity -
// infinity makes no NaN of weights that a later score may turn to zero.
ACCELD_INLINE float ShiftFor(float largest) { return largest == kMinusInfinity ? 0 : largest; }

// Turns the first `visible[i]` of each query's scores into weights relative to its largest score so
// far. The weights it had are to be multiplied by `factors[i]`.
template <std::int64_t kWidth>
ACCELD_INLINE void ToWeightsInLanes(std::int64_t queries, const std::int64_t* visible, float scale,
                                    float* scores, std::int64_t pitch,
                                    const PartialAttention& result, float* factors) {
  for (std::int64_t i = 0; i < queries; ++i) {
    factors[i] = 1;
    if (visible[i] == 0) continue;
    float* row = scores + i * pitch;
    const std::int64_t n = RoundUp(visible[i], kWidth);
    for (std::int64_t j = visible[i]; j < n; ++j) row[j] = kMinusInfinity;
    const float former = result.largest[i];
    const float largest = std::max(former, Largest<kWidth>(row, n));
    const float shift = ShiftFor(largest);
    // While it was minus infinity, all weights were 0 or NaN, and stay that.
    if (largest != former && former != kMinusInfinity) {
      factors[i] = Exp((former - shift) * scale);
    }
    result.largest[i] = largest;
    result.sums[i] = result.sums[i] * factors[i] + ExpAndSum<kWidth>(shift, scale, row, n);
  }
}

ACCELD_MULTIVERSION void ToWeights(std::int64_t queries, const std::int64_t* visible, float scale,
                                   float* scores, std::int64_t pitch,
                                   const PartialAttention& result, float* factors) {
  if (pitch == kFewLanes) {
    ToWeightsInLanes<kFewLanes>(queries, visible, scale, scores, pitch, result, factors);
  } else {
    ToWeightsInLanes<kLanes>(queries, visible, scale, scores, pitch, result, factors);
  }
}

// Multiplies each row of [rows, n] by its factor.
ACCELD_MULTIVERSION void ScaleRows(const float* factors, std::int64_t rows, std::int64_t n,
                                   float* y) {
  for (std::int64_t i = 0; i < rows; ++i, y += n) {
    if (factors[i] == 1) continue;
    ACCELD_INDEPENDENT_ELEMENTS
    for (std::int64_t j = 0; j < n; ++j) y[j] *= factors[i];
  }
}

// Adds `count` rows of `x`, each of `n` and times its weight, to `y`.
ACCELD_MULTIVERSION void AddWeighted(const float* weights, std::int64_t count, const float* x,
                                     std::int64_t n, float* y) {
  for (std::int64_t i = 0; i < count; ++i, x += n) {
    const float weight = weights[i];
    ACCELD_INDEPENDENT_ELEMENTS
    for (std::int64_t j = 0; j < n; ++j) y[j] += weight * x[j];
  }
}

// Row-major: scores[queries, keys] = q k^T.
absl::Status MultiplyByKeys(std::int64_t queries, std::int64_t keys, std::int64_t head_dim,
                            const float* q, const float* k, float* scores, std::int64_t pitch) {
  return Multiply(MatrixProduct<float>{.transpose_a = Transpose::kTranspose,
                                       .transpose_b = Transpose::kNone,
                                       .m = keys,
                                       .n = queries,
                                       .k = head_dim,
                                       .alpha = 1,
                                       .a = k,
                                       .lda = head_dim,
                                       .b = q,
                                       .ldb = head_dim,
                                       .beta = 0,
                                       .c = scores,
                                       .ldc = pitch},
                  /*threads=*/1);
}

// Row-major: output[queries, head_dim] += weights v.
absl::Status AddValues(std::int64_t queries, std::int64_t keys, std::int64_t head_dim,
                       const float* weights, std::int64_t pitch, const float* v, float* output) {
  return Multiply(MatrixProduct<float>{.transpose_a = Transpose::kNone,
                                       .transpose_b = Transpose::kNone,
                                       .m = head_dim,
                                       .n = queries,
                                       .k = keys,
                                       .alpha = 1,
                                       .a = v,
                                       .lda = head_dim,
                                       .b = weights,
                                       .ldb = pitch,
                                       .beta = 1,
                                       .c = output,
                                       .ldc = head_dim},
                  /*threads=*/1);
}

// Adds the values that each query sees, `visible[i]` of them; that does not decrease. A weight of
// zero would spread a NaN of a value that is not seen, so the keys that only some queries of a
// strip see are added query by query.
absl::Status AddVisibleValues(std::int64_t queries, const std::int64_t* visible,
                              std::int64_t head_dim, const float* weights, std::int64_t pitch,
                              const float* v, float* output) {
  const bool all_alike = visible[0] == visible[queries - 1];
  const std::int64_t strip = all_alike ? queries : kStrip;
  for (std::int64_t first = 0; first < queries; first += strip) {
    const std::int64_t last = std::min(first + strip, queries);
    const std::int64_t shared = visible[first];
    if (shared > 0) {
      ACCELD_RETURN_IF_ERROR(AddValues(last - first, shared, head_dim, weights + first * pitch,
                                       pitch, v, output + first * head_dim));
    }
    for (std::int64_t i = first; i < last; ++i) {
      AddWeighted(weights + i * pitch + shared, visible[i] - shared, v + shared * head_dim,
                  head_dim, output + i * head_dim);
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::int64_t ScoreCount(const ops::Attention& op) {
  return std::min(kQueryBlock, op.seq_q) * ScoresPitch(op);
}

absl::Status Attend(const ops::Attention& op, const QueryBlock& block, std::int64_t first_key,
                    std::int64_t last_key, float* scores, const PartialAttention& result) {
  const std::int64_t head_dim = op.head_dim;
  const std::int64_t pitch = ScoresPitch(op);
  const float* q = Pointer<const float>(op.q) + (block.head * op.seq_q + block.first) * head_dim;
  const float* k = Pointer<const float>(op.k) + block.head * op.seq_kv * head_dim;
  const float* v = Pointer<const float>(op.v) + block.head * op.seq_kv * head_dim;
  std::fill(result.largest, result.largest + block.count, kMinusInfinity);
  std::fill(result.sums, result.sums + block.count, 0.0);
  std::fill(result.output, result.output + block.count * head_dim, 0.0f);

  for (std::int64_t key = first_key; key < last_key; key += kKeyBlock) {
    const std::int64_t keys = std::min(kKeyBlock, last_key - key);
    std::int64_t visible[kQueryBlock];
    for (std::int64_t i = 0; i < block.count; ++i) {
      visible[i] = std::clamp<std::int64_t>(VisibleKeys(op, block.first + i) - key, 0, keys);
    }
    ACCELD_RETURN_IF_ERROR(
        MultiplyByKeys(block.count, keys, head_dim, q, k + key * head_dim, scores, pitch));
    float factors[kQueryBlock];
    ToWeights(block.count, visible, op.scale, scores, pitch, result, factors);
    ScaleRows(factors, block.count, head_dim, result.output);
    ACCELD_RETURN_IF_ERROR(AddVisibleValues(block.count, visible, head_dim, scores, pitch,
                                            v + key * head_dim, result.output));
  }
  return absl::OkStatus();
}

void Finish(const ops::Attention& op, const QueryBlock& block, const PartialAttention& result) {
  float factors[kQueryBlock];
  for (std::int64_t i = 0; i < block.count; ++i) {
    // A query that sees no key keeps its zeros.
    const bool sees = VisibleKeys(op, block.first + i) > 0;
    factors[i] = sees ? static_cast<float>(1 / result.sums[i]) : 1;
  }
  ScaleRows(factors, block.count, op.head_dim, result.output);
}

void Merge(const ops::Attention& op, const QueryBlock& block, const PartialAttention* parts,
           std::int64_t count, float* output) {
  float largest[kQueryBlock];
  double sums[kQueryBlock] = {};
  std::fill(largest, largest + block.count, kMinusInfinity);
  std::fill(output, output + block.count * op.head_dim, 0.0f);
  for (std::int64_t part = 0; part < count; ++part) {
    for (std::int64_t i = 0; i < block.count; ++i) {
      largest[i] = std::max(largest[i], parts[part].largest[i]);
    }
  }
  for (std::int64_t part = 0; part < count; ++part) {
    for (std::int64_t i = 0; i < block.count; ++i) {
      const float factor = Exp((parts[part].largest[i] - ShiftFor(largest[i])) * op.scale);
      sums[i] += parts[part].sums[i] * factor;
      AddWeighted(&factor, 1, parts[part].output + i * op.head_dim, op.head_dim,
                  output + i * op.head_dim);
    }
  }
  Finish(op, block, {.largest = largest, .sums = sums, .output = output});
}

}  // namespace acceld::cpu
