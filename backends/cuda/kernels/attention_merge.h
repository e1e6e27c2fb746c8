// What attention's blocks have of the segments of the keys, made into outputs.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "backends/cuda/kernels/attention_tiles.h"
#include "backends/cuda/kernels/exponential_sum.h"
#include "backends/cuda/kernels/grid.h"

namespace acceld::cuda {

// A thread of the merging block for each.
inline constexpr std::int64_t kMaxAttentionSegments = 128;

// Of each segment, head and query: the largest score with the sum of the exponentials relative to
// it, and the values weighted by these, [segments, heads, seq_q, head_dim] and aligned.
struct AttentionPartials {
  ExponentialSum* sums = nullptr;
  float* outputs = nullptr;

  static std::uint64_t Bytes(const AttentionShape& shape, std::int64_t segments) {
    return static_cast<std::uint64_t>(segments * shape.heads * shape.seq_q) *
           (sizeof(ExponentialSum) + static_cast<std::uint64_t>(shape.head_dim) * sizeof(float));
  }
  // In Bytes() bytes of memory.
  static AttentionPartials In(void* memory, const AttentionShape& shape, std::int64_t segments) {
    static_assert(sizeof(ExponentialSum) % sizeof(Float4) == 0);
    auto* const sums = static_cast<ExponentialSum*>(memory);
    return {sums, reinterpret_cast<float*>(sums + segments * shape.heads * shape.seq_q)};
  }
  // Both arrays, which are in one piece.
  KernelOperand Operand(const AttentionShape& shape, std::int64_t segments, bool writes) const {
    return {.data = sums, .bytes = Bytes(shape, segments), .writes = writes};
  }
};

// A block makes one query's output of its segments, in their order.
class AttentionMergeKernel {
 public:
  using Registers = NoRegisters;
  static constexpr int kThreads = static_cast<int>(kMaxAttentionSegments);
  static constexpr int kBlocksAtOnce = 8;

  AttentionMergeKernel() = default;
  AttentionMergeKernel(const AttentionShape& shape, std::int64_t segments,
                       const AttentionPartials& partials, float* output)
      : shape_(shape),
        segments_(static_cast<int>(segments)),
        partials_(partials),
        output_(output) {}

  Grid grid() const { return {.blocks = rows(), .shared_bytes = sizeof(Shared)}; }
  auto operands() const {
    return std::array{partials_.Operand(shape_, segments_, /*writes=*/false),
                      Writes(output_, rows() * shape_.head_dim)};
  }

  template <typename Block>
  ACCELD_HOST_DEVICE void operator()(Block& block) const {
    Shared& shared = *block.template shared<Shared>();
    const std::int64_t row = block.index();
    block.Phase([&](int thread, Registers&) {
      if (thread < segments_) shared.sums[thread] = partials_.sums[thread * rows() + row];
    });
    block.Phase([&](int thread, Registers&) {
      if (thread >= segments_) return;
      float largest = -INFINITY;
      for (int s = 0; s < segments_; ++s) largest = MaxNumber(largest, shared.sums[s].largest);
      // See ExponentialSum::shift.
      const float shift = largest == -INFINITY ? 0 : largest;
      shared.factors[thread] = std::exp(shared.sums[thread].largest - shift);
    });
    block.Phase([&](int thread, Registers&) {
      const float factor = Factor(row, shared);
      for (std::int64_t dim = thread; dim < shape_.head_dim; dim += kThreads) {
        output_[row * shape_.head_dim + dim] = Merged(row, dim, shared) * factor;
      }
    });
  }

 private:
  struct Shared {
    ExponentialSum sums[kThreads];
    float factors[kThreads];
  };
  // Elements that a thread loads before it adds the first.
  static constexpr int kLoads = 16;

  ACCELD_HOST_DEVICE std::int64_t rows() const { return shape_.heads * shape_.seq_q; }

  // What the sum of the weighted values is to be multiplied by.
  ACCELD_HOST_DEVICE float Factor(std::int64_t row, const Shared& shared) const {
    const std::int64_t query = row - Quotient(row, shape_.seq_q) * shape_.seq_q;
    if (shape_.VisibleKeys(query) == 0) return 0;
    double sum = 0;
    for (int s = 0; s < segments_; ++s) {
      sum += shared.sums[s].sum * static_cast<double>(shared.factors[s]);
    }
    return static_cast<float>(1 / sum);
  }

  ACCELD_HOST_DEVICE float Merged(std::int64_t row, std::int64_t dim, const Shared& shared) const {
    const float* const outputs = partials_.outputs + row * shape_.head_dim + dim;
    float sum = 0;
    for (int first = 0; first < segments_; first += kLoads) {
      float x[kLoads];
      ACCELD_UNROLL
      for (int e = 0; e < kLoads; ++e) {
        if (first + e < segments_) x[e] = outputs[(first + e) * rows() * shape_.head_dim];
      }
      ACCELD_UNROLL
      for (int e = 0; e < kLoads; ++e) {
        if (first + e < segments_) sum += x[e] * shared.factors[first + e];
      }
    }
    return sum;
  }

  AttentionShape shape_;
  int segments_ = 1;
  AttentionPartials partials_;
  float* output_ = nullptr;
};

}  // namespace acceld::cuda
