// The product of two row-major f32 matrices, with rows and columns counted in 64 bits: by oneDNN
// unless it is small.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "backends/core/values.h"

namespace acceld::cpu {

// C = op(A) op(B) + beta C for [m, k] x [k, n] -> [m, n], with the distance of two rows in
// elements. C is not read for beta 0.
struct RowMajorProduct {
  Transpose transpose_a = Transpose::kNone;
  Transpose transpose_b = Transpose::kNone;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const float* a = nullptr;
  std::int64_t lda = 0;
  const float* b = nullptr;
  std::int64_t ldb = 0;
  float beta = 0;
  float* c = nullptr;
  std::int64_t ldc = 0;
};

// With as many threads as ScopedOpenMpThreads is set to. Out of memory where oneDNN finds no
// scratch memory.
absl::Status Multiply(const RowMajorProduct& product);

}  // namespace acceld::cpu
