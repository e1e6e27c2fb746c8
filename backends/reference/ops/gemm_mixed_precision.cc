#include <cstdint>

#include "backends/core/rounding.h"
#include "backends/reference/ops/pointers.h"
#include "backends/reference/reference.h"

namespace acceld::reference {

void Run(const ops::GemmMixedPrecision& op) {
  const float* a = Pointer<const float>(op.a);
  const float* b = Pointer<const float>(op.b);
  float* c = Pointer<float>(op.c);
  const bool transpose_a = op.transpose_a != Transpose::kNone;
  const bool transpose_b = op.transpose_b != Transpose::kNone;
  for (std::int64_t j = 0; j < op.n; ++j) {
    for (std::int64_t i = 0; i < op.m; ++i) {
      float& element = c[i + j * op.ldc];
      // Products of rounded factors are exact in double.
      double result = 0;
      if (op.alpha != 0 && op.k > 0) {
        double sum = 0;
        for (std::int64_t p = 0; p < op.k; ++p) {
          const float x = transpose_a ? a[p + i * op.lda] : a[i + p * op.lda];
          const float y = transpose_b ? b[j + p * op.ldb] : b[p + j * op.ldb];
          sum += static_cast<double>(RoundTo(op.precision, x)) *
                 static_cast<double>(RoundTo(op.precision, y));
        }
        result += static_cast<double>(op.alpha) * sum;
      }
      if (op.beta != 0) result += static_cast<double>(op.beta) * static_cast<double>(element);
      element = static_cast<float>(result);
    }
  }
}

}  // namespace acceld::reference
