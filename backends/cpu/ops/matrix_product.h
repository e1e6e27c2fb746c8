// The product of two matrices by OpenBLAS, oneDNN or own loops, whichever is fastest for the shape:
// which the gemm ops share.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "backends/core/values.h"

namespace acceld::cpu {

// C = alpha op(A) op(B) + beta C, column-major, T float or double; as ops::Gemm.
template <typename T>
struct MatrixProduct {
  Transpose transpose_a;
  Transpose transpose_b;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  T alpha;
  const T* a;
  std::int64_t lda;
  const T* b;
  std::int64_t ldb;
  T beta;
  T* c;
  std::int64_t ldc;
};

// Computes `product` with `threads` threads: 1, or what ScopedOpenMpThreads is set to. Inside
// ParallelFor it has to be 1. Out of memory where a library has none for its copies of the factors;
// what C holds is undefined then.
absl::Status Multiply(const MatrixProduct<float>& product, int threads);
absl::Status Multiply(const MatrixProduct<double>& product, int threads);

// C = beta C, of which C is not read for beta 0.
void ScaleC(const MatrixProduct<float>& product, int threads);

// How far behind a product's operands those of the next one lie, in elements.
struct ProductStrides {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t c = 0;
};

// Computes `count` products, `first` and those behind it, in the calling thread, up to the first
// that fails.
absl::Status MultiplyEach(const MatrixProduct<float>& first, const ProductStrides& strides,
                          std::int64_t count);
absl::Status MultiplyEach(const MatrixProduct<double>& first, const ProductStrides& strides,
                          std::int64_t count);

}  // namespace acceld::cpu
