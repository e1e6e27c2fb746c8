// Rows copied between arrays; ops::Gather and ops::Scatter.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/row_tiling.h"

namespace acceld::cuda {

// target[target_rows[i], :] = source[source_rows[i], :] for i in [0, count), dense f32 arrays with
// rows of `columns` elements. Null for i itself. No target row is named twice.
class CopyRowsKernel {
 public:
  using Registers = NoRegisters;
  static constexpr int kThreads = RowTiling::kThreads;
  static constexpr int kBlocksAtOnce = 6;

  CopyRowsKernel() = default;
  CopyRowsKernel(std::int64_t count, std::int64_t columns, const float* source,
                 const std::int64_t* source_rows, float* target, const std::int64_t* target_rows)
      : columns_(columns),
        source_(source),
        source_rows_(source_rows),
        target_(target),
        target_rows_(target_rows),
        vectors_(columns % kVectorLength == 0 && IsAligned(source) && IsAligned(target)),
        tiling_(count, vectors_ ? columns / kVectorLength : columns) {}

  Grid grid() const { return tiling_.grid(); }

  template <typename Block>
  ACCELD_HOST_DEVICE void operator()(Block& block) const {
    block.Phase([&](int thread, Registers&) {
      const RowTiling::Part part = tiling_.At(block.index(), thread);
      if (part.count == 0) return;
      const std::int64_t from = source_rows_ == nullptr ? part.row : source_rows_[part.row];
      const std::int64_t to = target_rows_ == nullptr ? part.row : target_rows_[part.row];
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
  const std::int64_t* source_rows_ = nullptr;
  float* target_ = nullptr;
  const std::int64_t* target_rows_ = nullptr;
  bool vectors_ = false;
  RowTiling tiling_;
};

}  // namespace acceld::cuda
