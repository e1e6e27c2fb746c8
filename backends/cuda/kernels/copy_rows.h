// Rows copied between arrays; ops::Gather and ops::Scatter.
#pragma once

#include <array>
#include <cstdint>

#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/row_tiling.h"

namespace acceld::cuda {

// Rows of an array: indices[i] is the i-th, in [0, rows). Null for the i-th row itself.
struct ChosenRows {
  const std::int64_t* indices = nullptr;
  std::int64_t rows = 0;
};

// target[target_rows[i], :] = source[source_rows[i], :] for i in [0, count), dense f32 arrays with
// rows of `columns` elements. No target row is named twice.
class CopyRowsKernel {
 public:
  using Registers = NoRegisters;
  static constexpr int kThreads = RowTiling::kThreads;
  static constexpr int kBlocksAtOnce = 6;

  CopyRowsKernel() = default;
  CopyRowsKernel(std::int64_t count, std::int64_t columns, const float* source,
                 const ChosenRows& source_rows, float* target, const ChosenRows& target_rows)
      : columns_(columns),
        source_(source),
        source_rows_(source_rows),
        target_(target),
        target_rows_(target_rows),
        vectors_(columns % kVectorLength == 0 && IsAligned(source) && IsAligned(target)),
        tiling_(count, vectors_ ? columns / kVectorLength : columns) {}

  Grid grid() const { return tiling_.grid(); }
  auto operands() const {
    const std::int64_t count = tiling_.rows();
    const auto elements = [&](const ChosenRows& chosen) {
      return (chosen.indices == nullptr ? count : chosen.rows) * columns_;
    };
    const auto indices = [&](const ChosenRows& chosen) {
      return Reads(chosen.indices, chosen.indices == nullptr ? 0 : count);
    };
    return std::array{Reads(source_, elements(source_rows_)), indices(source_rows_),
                      Writes(target_, elements(target_rows_)), indices(target_rows_)};
  }

  template <typename Block>
  ACCELD_HOST_DEVICE void operator()(Block& block) const {
    block.Phase([&](int thread, Registers&) {
      const RowTiling::Part part = tiling_.At(block.index(), thread);
      if (part.count == 0) return;
      const std::int64_t from = RowOf(source_rows_, part.row);
      const std::int64_t to = RowOf(target_rows_, part.row);
      const float* source = source_ + from * columns_;
      float* target = target_ + to * columns_;
      if (vectors_) {
        Copy(part, reinterpret_cast<const Float4*>(source), reinterpret_cast<Float4*>(target));
      } else {
        Copy(part, source, target);
      }
    });
  }

 private:
  ACCELD_HOST_DEVICE static std::int64_t RowOf(const ChosenRows& chosen, std::int64_t i) {
    return chosen.indices == nullptr ? i : chosen.indices[i];
  }

  // All is loaded before anything is stored, so that loads need not wait for one another.
  template <typename Unit>
  ACCELD_HOST_DEVICE static void Copy(const RowTiling::Part& part, const Unit* source,
                                      Unit* target) {
    Unit units[RowTiling::kUnitsPerThread];
    ACCELD_UNROLL
    for (int e = 0; e < RowTiling::kUnitsPerThread; ++e) {
      if (e < part.count) units[e] = source[part.first + e * part.step];
    }
    ACCELD_UNROLL
    for (int e = 0; e < RowTiling::kUnitsPerThread; ++e) {
      if (e < part.count) target[part.first + e * part.step] = units[e];
    }
  }

  std::int64_t columns_ = 0;
  const float* source_ = nullptr;
  ChosenRows source_rows_;
  float* target_ = nullptr;
  ChosenRows target_rows_;
  bool vectors_ = false;
  RowTiling tiling_;
};

}  // namespace acceld::cuda
