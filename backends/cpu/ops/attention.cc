// Attention block by block with an online softmax (Milakov and Gimelshein, 2018; Dao et al., 2022):
// no [seq_q, seq_kv] array is ever there. A task is a block of queries of one head; it goes through
// the blocks of keys, keeps each query's largest score and the sum of its exponentials so far, and
// accumulates in the output, which it scales down whenever the largest score grows.
#include <cblas.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "backends/cpu/kernels.h"
#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/fold.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/ops/vector_math.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// The scores of a task, 32 KiB, stay in the caches.
constexpr std::int64_t kQueryBlock = 64;
constexpr std::int64_t kKeyBlock = 128;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

ACCELD_MULTIVERSION void ExpMinus(float* x, double maximum, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(Exp(x[i] - maximum));
}

ACCELD_MULTIVERSION void Scale(double factor, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(y[i] * factor);
}

ACCELD_MULTIVERSION void AddScaled(float factor, const float* x, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

// A block of queries of one head.
class QueryBlock {
 public:
  QueryBlock(const ops::Attention& op, std::int64_t head, std::int64_t first_query)
      : op_(op),
        first_query_(first_query),
        queries_(std::min(kQueryBlock, op.seq_q - first_query)),
        q_(Pointer<const float>(op.q) + (head * op.seq_q + first_query) * op.head_dim),
        k_(Pointer<const float>(op.k) + head * op.seq_kv * op.head_dim),
        v_(Pointer<const float>(op.v) + head * op.seq_kv * op.head_dim),
        output_(Pointer<float>(op.output) + (head * op.seq_q + first_query) * op.head_dim) {}

  void Run() {
    std::fill(output_, output_ + queries_ * op_.head_dim, 0.0f);
    std::fill(largest_, largest_ + queries_, kMinusInfinity);
    std::fill(sums_, sums_ + queries_, 0.0);
    const std::int64_t visible = VisibleKeys(queries_ - 1);
    for (std::int64_t key = 0; key < visible; key += kKeyBlock) {
      AddKeys(key, std::min(kKeyBlock, visible - key));
    }
    for (std::int64_t i = 0; i < queries_; ++i) {
      // A query that sees no key keeps its zeros.
      if (VisibleKeys(i) > 0) Scale(1 / sums_[i], output_ + i * op_.head_dim, op_.head_dim);
    }
  }

 private:
  // How many keys, from the first on, the block's query `i` sees.
  std::int64_t VisibleKeys(std::int64_t i) const {
    if (!op_.causal) return op_.seq_kv;
    return std::clamp<std::int64_t>(first_query_ + i + op_.seq_kv - op_.seq_q + 1, 0, op_.seq_kv);
  }

  // Takes in the keys [first, first + keys).
  void AddKeys(std::int64_t first, std::int64_t keys) {
    const int d = static_cast<int>(op_.head_dim);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(queries_),
                static_cast<int>(keys), d, op_.scale, q_, d, k_ + first * op_.head_dim, d,
                /*beta=*/0, scores_, kKeyBlock);
    for (std::int64_t i = 0; i < queries_; ++i) ToWeights(i, VisibleInBlock(i, first, keys));

    const float* values = v_ + first * op_.head_dim;
    if (VisibleInBlock(0, first, keys) == keys) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(queries_), d,
                  static_cast<int>(keys), /*alpha=*/1, scores_, kKeyBlock, values, d, /*beta=*/1,
                  output_, d);
      return;
    }
    // Each query by itself: a weight of zero would still spread a NaN of a value it does not see.
    for (std::int64_t i = 0; i < queries_; ++i) {
      for (std::int64_t j = 0; j < VisibleInBlock(i, first, keys); ++j) {
        AddScaled(scores_[i * kKeyBlock + j], values + j * op_.head_dim, output_ + i * op_.head_dim,
                  op_.head_dim);
      }
    }
  }

  std::int64_t VisibleInBlock(std::int64_t i, std::int64_t first, std::int64_t keys) const {
    return std::clamp<std::int64_t>(VisibleKeys(i) - first, 0, keys);
  }

  // Turns the first `keys` scores of query `i` into weights relative to its largest score so far.
  void ToWeights(std::int64_t i, std::int64_t keys) {
    if (keys == 0) return;
    float* scores = scores_ + i * kKeyBlock;
    const float largest = Max(Largest(scores, keys), largest_[i]);
    // While every score is minus infinity, so that infinity - infinity makes no NaN of weights that
    // a later score may turn to zero.
    const double shift = largest == kMinusInfinity ? 0 : largest;
    if (largest != largest_[i]) {
      const double factor = Exp(largest_[i] - shift);
      Scale(factor, output_ + i * op_.head_dim, op_.head_dim);
      sums_[i] *= factor;
      largest_[i] = largest;
    }
    ExpMinus(scores, shift, keys);
    sums_[i] += Sum(scores, keys);
  }

  const ops::Attention& op_;
  const std::int64_t first_query_;
  const std::int64_t queries_;
  const float* const q_;
  const float* const k_;
  const float* const v_;
  float* const output_;
  float scores_[kQueryBlock * kKeyBlock];
  float largest_[kQueryBlock];
  double sums_[kQueryBlock];
};

}  // namespace

absl::Status Run(const ops::Attention& op, CpuContext& context) {
  const std::int64_t blocks = (op.seq_q + kQueryBlock - 1) / kQueryBlock;
  ParallelFor(context.threads(), op.batch * op.heads * blocks, /*grain=*/1,
              [&](std::int64_t begin, std::int64_t end) {
                // With one range this thread may still have many for OpenBLAS.
                const ScopedOpenMpThreads one_thread(1);
                for (std::int64_t task = begin; task < end; ++task) {
                  QueryBlock(op, task / blocks, task % blocks * kQueryBlock).Run();
                }
              });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
