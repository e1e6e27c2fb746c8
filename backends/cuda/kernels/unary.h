// A function of each element; ops::Unary.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "backends/core/values.h"
#include "backends/cuda/kernels/elementwise.h"

namespace acceld::cuda {

// 1 / (1 + e^-x), by the exponential that does not overflow, so that subnormal results are kept.
ACCELD_HOST_DEVICE float Sigmoid(float x) {
  const float e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1.0f) / (1.0f + e);
}

template <UnaryOp op>
ACCELD_HOST_DEVICE float Apply(float x) {
  if constexpr (op == UnaryOp::kRelu) return x > 0 ? x : 0;  // NaN gives 0
  if constexpr (op == UnaryOp::kSigmoid) return Sigmoid(x);
  if constexpr (op == UnaryOp::kTanh) return std::tanh(x);
  if constexpr (op == UnaryOp::kExp) return std::exp(x);
  if constexpr (op == UnaryOp::kLog) return std::log(x);
  if constexpr (op == UnaryOp::kSqrt) return std::sqrt(x);
  if constexpr (op == UnaryOp::kAbs) return std::fabs(x);
  if constexpr (op == UnaryOp::kNeg) return -x;
}

// output[i] = op(input[i]) for i in [0, n); the output may be the input.
class UnaryKernel {
 public:
  using Registers = NoRegisters;
  static constexpr int kThreads = ElementwiseTiling::kThreads;
  static constexpr int kBlocksAtOnce = 6;

  UnaryKernel() = default;
  UnaryKernel(UnaryOp op, std::int64_t n, const float* input, float* output)
      : op_(op), input_(input), output_(output), tiling_(n, output, input) {}

  Grid grid() const { return tiling_.grid(); }
  auto operands() const {
    return std::array{Reads(input_, tiling_.n()), Writes(output_, tiling_.n())};
  }

  template <typename Block>
  ACCELD_HOST_DEVICE void operator()(Block& block) const {
    switch (op_) {
      case UnaryOp::kRelu:
        return Run<UnaryOp::kRelu>(block);
      case UnaryOp::kSigmoid:
        return Run<UnaryOp::kSigmoid>(block);
      case UnaryOp::kTanh:
        return Run<UnaryOp::kTanh>(block);
      case UnaryOp::kExp:
        return Run<UnaryOp::kExp>(block);
      case UnaryOp::kLog:
        return Run<UnaryOp::kLog>(block);
      case UnaryOp::kSqrt:
        return Run<UnaryOp::kSqrt>(block);
      case UnaryOp::kAbs:
        return Run<UnaryOp::kAbs>(block);
      case UnaryOp::kNeg:
        return Run<UnaryOp::kNeg>(block);
    }
  }

 private:
  template <UnaryOp op, typename Block>
  ACCELD_HOST_DEVICE void Run(Block& block) const {
    block.Phase([&](int thread, Registers&) {
      tiling_.ForEach(
          block.index(), thread,
          [this](std::int64_t i) {
            Float4 v = LoadVector(input_ + i);
            ACCELD_UNROLL
            for (float& x : v.x) x = Apply<op>(x);
            return v;
          },
          [this](std::int64_t i, const Float4& v) { StoreVector(output_ + i, v); },
          [this](std::int64_t i) { return Apply<op>(input_[i]); },
          [this](std::int64_t i, float y) { output_[i] = y; });
    });
  }

  UnaryOp op_ = UnaryOp::kRelu;
  const float* input_ = nullptr;
  float* output_ = nullptr;
  ElementwiseTiling tiling_;
};

}  // namespace acceld::cuda
