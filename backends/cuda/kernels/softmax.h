// Exponentials normalized along one axis, in one pass where the axis fits into a block's memory and
// else in two (Milakov and Gimelshein, 2018); ops::Softmax.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "backends/cuda/kernels/axis_tiling.h"
#include "backends/cuda/kernels/exponential_sum.h"
#include "backends/cuda/kernels/extremes.h"

namespace acceld::cuda {

// output = softmax(input) of [outer, length, inner] along length; the output may be the input.
//
// Where segments() is more than 1 it takes two kernels, with the same `partials` of segments() x
// outer x inner: the first adds up the segments, the second writes.
class SoftmaxKernel {
 public:
  using Registers = NoRegisters;
  static constexpr int kThreads = AxisTiling::kThreads;
  static constexpr int kBlocksAtOnce = 4;

  enum class Step : std::uint8_t { kWhole, kAddUp, kWrite };

  SoftmaxKernel() = default;
  SoftmaxKernel(std::int64_t outer, std::int64_t length, std::int64_t inner, const float* input,
                float* output)
      : input_(input), output_(output), tiling_(outer, length, inner, /*may_cut=*/true) {
    const std::int64_t block_bytes =
        tiling_.slots_per_block() * length * static_cast<std::int64_t>(sizeof(float));
    if (tiling_.segments() == 1 && block_bytes <= kMaxCacheBytes) {
      cache_bytes_ = static_cast<int>(block_bytes);
    }
  }

  std::int64_t segments() const { return tiling_.segments(); }
  void set_step(Step step, ExponentialSum* partials) {
    step_ = step;
    partials_ = partials;
  }

  Grid grid() const {
    return {.blocks = tiling_.blocks(), .shared_bytes = kSumsBytes + cache_bytes_};
  }
  auto operands() const {
    const std::int64_t n = tiling_.elements();
    const std::int64_t sums = tiling_.segments() * slots_;
    return std::array{Reads(input_, n), Writes(output_, step_ == Step::kAddUp ? 0 : n),
                      step_ == Step::kAddUp ? Writes(partials_, sums)
                                            : Reads(partials_, step_ == Step::kWrite ? sums : 0)};
  }

  template <typename Block>
  ACCELD_HOST_DEVICE void operator()(Block& block) const {
    ExponentialSum* const sums = block.template shared<ExponentialSum>();
    float* const cache = reinterpret_cast<float*>(block.template shared<char>() + kSumsBytes);
    block.Phase([&](int thread, Registers&) {
      const AxisTiling::Part part = tiling_.At(block.index(), thread);
      if (part.slot_in_block < 0) return;
      sums[part.lane * tiling_.slots_per_block() + part.slot_in_block] =
          step_ == Step::kWrite ? AddSegments(part) : AddPart(part, cache);
    });
    CombineLanes(block, tiling_, sums,
                 [](ExponentialSum& into, const ExponentialSum& other) { into.Add(other); });
    block.Phase([&](int thread, Registers&) {
      const AxisTiling::Part part = tiling_.At(block.index(), thread);
      if (part.slot_in_block < 0) return;
      const ExponentialSum sum = sums[part.slot_in_block];
      if (step_ != Step::kAddUp) return Write(part, sum, cache);
      if (part.lane == 0) partials_[part.segment * slots_ + part.slot] = sum;
    });
  }

 private:
  static constexpr int kSumsBytes = kThreads * static_cast<int>(sizeof(ExponentialSum));
  // So that several blocks fit into a multiprocessor.
  static constexpr std::int64_t kMaxCacheBytes = 32 * 1024;
  static_assert(kSumsBytes + kMaxCacheBytes <= kMaxSharedBytes);
  // Elements that a thread loads before it uses the first.
  static constexpr int kLoads = 8;

  // The thread's elements; with a cache, they are put there.
  ACCELD_HOST_DEVICE ExponentialSum AddPart(const AxisTiling::Part& part, float* cache) const {
    const float* const input = input_ + part.first;
    const int step = tiling_.lanes();
    const int slots = tiling_.slots_per_block();
    ExponentialSum result = ExponentialSum::Empty();
    for (std::int64_t first = part.begin; first < part.end; first += kLoads * step) {
      float x[kLoads];
      ACCELD_UNROLL
      for (int e = 0; e < kLoads; ++e) {
        const std::int64_t l = first + e * step;
        x[e] = l < part.end ? input[l * part.stride] : -INFINITY;
      }
      float largest = x[0];
      ACCELD_UNROLL
      for (int e = 1; e < kLoads; ++e) largest = MaxNumber(largest, x[e]);
      result.Raise(largest);
      ACCELD_UNROLL
      for (int e = 0; e < kLoads; ++e) {
        const std::int64_t l = first + e * step;
        if (l >= part.end) continue;
        result.sum += static_cast<double>(std::exp(x[e] - result.shift()));
        if (cache_bytes_ > 0) cache[l * slots + part.slot_in_block] = x[e];
      }
    }
    return result;
  }

  ACCELD_HOST_DEVICE ExponentialSum AddSegments(const AxisTiling::Part& part) const {
    ExponentialSum result = ExponentialSum::Empty();
    for (std::int64_t i = part.lane; i < tiling_.segments(); i += tiling_.lanes()) {
      result.Add(partials_[i * slots_ + part.slot]);
    }
    return result;
  }

  ACCELD_HOST_DEVICE void Write(const AxisTiling::Part& part, const ExponentialSum& sum,
                                const float* cache) const {
    const float* const input = input_ + part.first;
    float* const output = output_ + part.first;
    const int slots = tiling_.slots_per_block();
    const float shift = sum.shift();
    const float factor = static_cast<float>(1 / sum.sum);
    for (std::int64_t l = part.begin; l < part.end; l += tiling_.lanes()) {
      const float x =
          cache_bytes_ > 0 ? cache[l * slots + part.slot_in_block] : input[l * part.stride];
      output[l * part.stride] = std::exp(x - shift) * factor;
    }
  }

  const float* input_ = nullptr;
  float* output_ = nullptr;
  Step step_ = Step::kWhole;
  ExponentialSum* partials_ = nullptr;
  int cache_bytes_ = 0;
  AxisTiling tiling_;
  std::int64_t slots_ = tiling_.slots();
};

}  // namespace acceld::cuda
