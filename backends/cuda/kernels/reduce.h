// An array folded along one axis; ops::Reduce, but for long rows (reduce_rows.h). Sums are in
// double, so that they lose no digits however long they are.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "backends/core/values.h"
#include "backends/cuda/kernels/axis_tiling.h"
#include "backends/cuda/kernels/extremes.h"

namespace acceld::cuda {

// An axis of [outer, length, inner] folded into [outer, inner]. Where segments() is more than 1,
// `partials` takes a value for each segment, [segments, outer * inner], which another kernel folds
// along the segments (T double, which is never cut).
template <typename T>
class ReduceKernel {
 public:
  using Registers = NoRegisters;
  static constexpr int kThreads = AxisTiling::kThreads;
  static constexpr int kBlocksAtOnce = 5;

  ReduceKernel() = default;
  // `divisor` is what a mean divides by.
  ReduceKernel(ReduceOp op, std::int64_t outer, std::int64_t length, std::int64_t inner,
               double divisor, const T* input, float* output)
      : op_(op),
        divisor_(op == ReduceOp::kMean ? divisor : 1),
        input_(input),
        output_(output),
        tiling_(outer, length, inner, /*may_cut=*/sizeof(T) == sizeof(float)) {}

  std::int64_t segments() const { return tiling_.segments(); }
  void set_partials(double* partials) { partials_ = partials; }

  Grid grid() const {
    return {.blocks = tiling_.blocks(),
            .shared_bytes = kThreads * static_cast<int>(sizeof(double))};
  }
  auto operands() const {
    return std::array{Reads(input_, tiling_.elements()),
                      partials_ != nullptr ? Writes(partials_, tiling_.segments() * slots_)
                                           : Writes(output_, slots_)};
  }

  template <typename Block>
  ACCELD_HOST_DEVICE void operator()(Block& block) const {
    switch (op_) {
      case ReduceOp::kSum:
      case ReduceOp::kMean:
        return Run<double>(block, -0.0, [](double& sum, double x) { sum += x; });
      case ReduceOp::kMax:
        return Run<T>(block, static_cast<T>(NAN), [](auto& max, T x) { max = MaxNumber(max, x); });
      case ReduceOp::kMin:
        return Run<T>(block, static_cast<T>(NAN), [](auto& min, T x) { min = MinNumber(min, x); });
    }
  }

 private:
  // Elements that a thread loads before it folds the first.
  static constexpr int kLoads = 8;

  template <typename Value, typename Block, typename Combine>
  ACCELD_HOST_DEVICE void Run(Block& block, Value start, Combine combine) const {
    Value* const values = block.template shared<Value>();
    block.Phase([&](int thread, Registers&) {
      const AxisTiling::Part part = tiling_.At(block.index(), thread);
      if (part.slot_in_block < 0) return;
      values[part.lane * tiling_.slots_per_block() + part.slot_in_block] =
          FoldPart(part, start, combine);
    });
    CombineLanes(block, tiling_, values, combine);
    block.Phase([&](int thread, Registers&) {
      const AxisTiling::Part part = tiling_.At(block.index(), thread);
      if (part.slot_in_block < 0 || part.lane > 0) return;
      const double result = static_cast<double>(values[part.slot_in_block]);
      if (partials_ != nullptr) {
        partials_[part.segment * slots_ + part.slot] = result;
      } else {
        output_[part.slot] = static_cast<float>(result / divisor_);
      }
    });
  }

  template <typename Value, typename Combine>
  ACCELD_HOST_DEVICE Value FoldPart(const AxisTiling::Part& part, Value value,
                                    Combine combine) const {
    const T* const input = input_ + part.first;
    const int step = tiling_.lanes();
    std::int64_t l = part.begin;
    for (; l + (kLoads - 1) * step < part.end; l += kLoads * step) {
      T loaded[kLoads];
      ACCELD_UNROLL
      for (int e = 0; e < kLoads; ++e) loaded[e] = input[(l + e * step) * part.stride];
      ACCELD_UNROLL
      for (int e = 0; e < kLoads; ++e) combine(value, static_cast<Value>(loaded[e]));
    }
    for (; l < part.end; l += step) combine(value, static_cast<Value>(input[l * part.stride]));
    return value;
  }

  ReduceOp op_ = ReduceOp::kSum;
  double divisor_ = 1;
  const T* input_ = nullptr;
  float* output_ = nullptr;
  double* partials_ = nullptr;
  AxisTiling tiling_;
  std::int64_t slots_ = tiling_.slots();
};

}  // namespace acceld::cuda
