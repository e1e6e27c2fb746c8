// The product of two f32 matrices by oneDNN, which counts rows and columns in 64 bits.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "backends/cpu/ops/matrix_product.h"

namespace acceld::cpu {

// Without AVX-512 its product is not known to be faster than OpenBLAS's.
bool HasFastOneDnnProduct();

// Whatever a product's primitive depends on.
struct ProductKey {
  // For the calling thread.
  explicit ProductKey(const MatrixProduct<float>& product);

  bool transpose_a;
  bool transpose_b;
  // m, n, k, lda, ldb, ldc.
  std::array<std::int64_t, 6> sizes;
  int threads;

  friend bool operator==(const ProductKey&, const ProductKey&) = default;

  template <typename H>
  friend H AbslHashValue(H state, const ProductKey& key) {
    return H::combine(std::move(state), key.transpose_a, key.transpose_b, key.sizes, key.threads);
  }
};

// With as many threads as ScopedOpenMpThreads is set to. Out of memory where oneDNN has none for
// copies of the factors; what C holds is undefined then, since some threads may have begun.
absl::Status MultiplyByOneDnn(const MatrixProduct<float>& product);

}  // namespace acceld::cpu
