// How the units (elements, or vectors of them) of equally long rows are shared out among threads.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/grid.h"

namespace acceld::cuda {

// A row is gone through by `lanes` threads side by side, and a long one by several blocks; a block
// takes several short ones.
class RowTiling {
 public:
  static constexpr int kThreads = 256;
  static constexpr int kUnitsPerThread = 4;

  // A thread's units: `count` of them from `first` on, `step` apart, of row `row`.
  struct Part {
    std::int64_t row;
    std::int64_t first;
    int step;
    int count;
  };

  RowTiling() = default;
  RowTiling(std::int64_t rows, std::int64_t units) : rows_(rows), units_(units) {
    while (lanes_ < kThreads && 2 * lanes_ <= units) lanes_ *= 2;
    chunks_ = CeilDivide(units, lanes_ * kUnitsPerThread);
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t units() const { return units_; }
  Grid grid() const { return {.blocks = CeilDivide(rows_, kThreads / lanes_) * chunks_}; }

  ACCELD_HOST_DEVICE Part At(std::int64_t block, int thread) const {
    const std::int64_t group = Quotient(block, chunks_);
    const std::int64_t chunk = block - group * chunks_;
    Part part{};
    part.row = group * (kThreads / lanes_) + thread / lanes_;
    part.first = chunk * lanes_ * kUnitsPerThread + thread % lanes_;
    part.step = lanes_;
    if (part.row < rows_ && part.first < units_) {
      part.count = static_cast<int>(
          Smaller<std::int64_t>(CeilDivide(units_ - part.first, lanes_), kUnitsPerThread));
    }
    return part;
  }

 private:
  std::int64_t rows_ = 0;
  std::int64_t units_ = 0;
  // A power of two.
  int lanes_ = 1;
  // Blocks to a row.
  std::int64_t chunks_ = 0;
};

}  // namespace acceld::cuda
