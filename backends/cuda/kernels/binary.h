// A function of two arrays' elements; ops::Binary.
#pragma once

#include <array>
#include <cstdint>

#include "backends/core/values.h"
#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/extremes.h"

namespace acceld::cuda {

template <BinaryOp op>
ACCELD_HOST_DEVICE float Apply(float a, float b) {
  if constexpr (op == BinaryOp::kAdd) return a + b;
  if constexpr (op == BinaryOp::kSub) return a - b;
  if constexpr (op == BinaryOp::kMul) return a * b;
  if constexpr (op == BinaryOp::kDiv) return a / b;
  if constexpr (op == BinaryOp::kMax) return MaxNumber(a, b);
  if constexpr (op == BinaryOp::kMin) return MinNumber(a, b);
}

// output[i] = a[i] op b[i] for i in [0, n); the output may be a or b.
class BinaryKernel {
 public:
  using Registers = NoRegisters;
  static constexpr int kThreads = ElementwiseTiling::kThreads;
  static constexpr int kBlocksAtOnce = 5;

  BinaryKernel() = default;
  BinaryKernel(BinaryOp op, std::int64_t n, const float* a, const float* b, float* output)
      : op_(op), a_(a), b_(b), output_(output), tiling_(n, output, a, b) {}

  Grid grid() const { return tiling_.grid(); }
  auto operands() const {
    return std::array{Reads(a_, tiling_.n()), Reads(b_, tiling_.n()), Writes(output_, tiling_.n())};
  }

  template <typename Block>
  ACCELD_HOST_DEVICE void operator()(Block& block) const {
    switch (op_) {
      case BinaryOp::kAdd:
        return Run<BinaryOp::kAdd>(block);
      case BinaryOp::kSub:
        return Run<BinaryOp::kSub>(block);
      case BinaryOp::kMul:
        return Run<BinaryOp::kMul>(block);
      case BinaryOp::kDiv:
        return Run<BinaryOp::kDiv>(block);
      case BinaryOp::kMax:
        return Run<BinaryOp::kMax>(block);
      case BinaryOp::kMin:
        return Run<BinaryOp::kMin>(block);
    }
  }

 private:
  template <BinaryOp op, typename Block>
  ACCELD_HOST_DEVICE void Run(Block& block) const {
    block.Phase([&](int thread, Registers&) {
      tiling_.ForEach(
          block.index(), thread,
          [this](std::int64_t i) {
            Float4 v = LoadVector(a_ + i);
            const Float4 w = LoadVector(b_ + i);
            ACCELD_UNROLL
            for (int e = 0; e < kVectorLength; ++e) v.x[e] = Apply<op>(v.x[e], w.x[e]);
            return v;
          },
          [this](std::int64_t i, const Float4& v) { StoreVector(output_ + i, v); },
          [this](std::int64_t i) { return Apply<op>(a_[i], b_[i]); },
          [this](std::int64_t i, float c) { output_[i] = c; });
    });
  }

  BinaryOp op_ = BinaryOp::kAdd;
  const float* a_ = nullptr;
  const float* b_ = nullptr;
  float* output_ = nullptr;
  ElementwiseTiling tiling_;
};

}  // namespace acceld::cuda
