// A matrix times a number: the products whose factors are not read.
#pragma once

#include <array>
#include <cstdint>

#include "backends/cuda/kernels/row_tiling.h"

namespace acceld::cuda {

// For i in [0, batch): C_i = beta C_i, column-major [m, n] with leading dimension ldc, C_i at
// c + i * stride. With beta 0, C is not read.
template <typename T>
class ScaleKernel {
 public:
  using Registers = NoRegisters;
  static constexpr int kThreads = RowTiling::kThreads;
  static constexpr int kBlocksAtOnce = 4;

  ScaleKernel() = default;
  ScaleKernel(std::int64_t m, std::int64_t n, T beta, T* c, std::int64_t ldc,
              std::int64_t stride = 0, std::int64_t batch = 1)
      : n_(n), beta_(beta), c_(c), ldc_(ldc), stride_(stride), tiling_(n * batch, m) {}

  Grid grid() const { return tiling_.grid(); }
  auto operands() const {
    const std::int64_t matrix = MatrixSpan(tiling_.units(), n_, ldc_);
    const std::int64_t others = matrix > 0 ? (tiling_.rows() / n_ - 1) * stride_ : 0;
    return std::array{Writes(c_, others + matrix)};
  }

  template <typename Block>
  ACCELD_HOST_DEVICE void operator()(Block& block) const {
    block.Phase([&](int thread, Registers&) {
      const RowTiling::Part part = tiling_.At(block.index(), thread);
      if (part.count == 0) return;
      const std::int64_t i = Quotient(part.row, n_);
      const std::int64_t column = part.row - i * n_;
      T* const first = c_ + i * stride_ + column * ldc_ + part.first;
      for (int e = 0; e < part.count; ++e) {
        T& element = first[e * part.step];
        element = beta_ == 0 ? T{0} : beta_ * element;
      }
    });
  }

 private:
  std::int64_t n_ = 1;
  T beta_ = 0;
  T* c_ = nullptr;
  std::int64_t ldc_ = 0;
  std::int64_t stride_ = 0;
  RowTiling tiling_;
};

}  // namespace acceld::cuda
