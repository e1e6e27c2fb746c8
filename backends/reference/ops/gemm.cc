#include <cstdint>
#include <type_traits>

#include "backends/reference/ops/pointers.h"
#include "backends/reference/reference.h"

namespace acceld::reference {
namespace {

template <typename T>
void Multiply(const ops::Gemm& op) {
  using Sum = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  const T* a = Pointer<const T>(op.a);
  const T* b = Pointer<const T>(op.b);
  T* c = Pointer<T>(op.c);
  const bool transpose_a = op.transpose_a != Transpose::kNone;
  const bool transpose_b = op.transpose_b != Transpose::kNone;
  // BLAS takes them in the operands' type.
  const Sum alpha = static_cast<T>(op.alpha);
  const Sum beta = static_cast<T>(op.beta);
  for (std::int64_t j = 0; j < op.n; ++j) {
    for (std::int64_t i = 0; i < op.m; ++i) {
      T& element = c[i + j * op.ldc];
      Sum result = 0;
      if (alpha != 0 && op.k > 0) {
        Sum sum = 0;
        for (std::int64_t p = 0; p < op.k; ++p) {
          const Sum x = transpose_a ? a[p + i * op.lda] : a[i + p * op.lda];
          const Sum y = transpose_b ? b[j + p * op.ldb] : b[p + j * op.ldb];
          sum += x * y;
        }
        result += alpha * sum;
      }
      if (beta != 0) result += beta * static_cast<Sum>(element);
      element = static_cast<T>(result);
    }
  }
}

}  // namespace

void Run(const ops::Gemm& op) {
  if (op.type == DataType::kF64) {
    Multiply<double>(op);
  } else {
    Multiply<float>(op);
  }
}

}  // namespace acceld::reference
