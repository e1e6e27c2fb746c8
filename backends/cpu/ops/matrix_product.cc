#include "backends/cpu/ops/matrix_product.h"

#include <cblas.h>

#include <algorithm>
#include <optional>

#include "backends/core/mutex.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Less is not worth a thread, in elements.
constexpr std::int64_t kScaledPerThread = 64 * 1024;

// The number of threads is a global of OpenBLAS, which a threaded product sets from this thread's;
// devices with different numbers must not get in each other's way. A product of one thread does not
// look at it.
Mutex& ThreadedBlasMutex() {
  static Mutex& mutex = *new Mutex;
  return mutex;
}

CBLAS_TRANSPOSE ToBlas(Transpose transpose) {
  return transpose == Transpose::kNone ? CblasNoTrans : CblasTrans;
}

int ToInt(std::int64_t dimension) { return static_cast<int>(dimension); }

// C = beta C, of which C is not read for beta 0.
template <typename T>
void Scale(const MatrixProduct<T>& p, int threads) {
  if (p.beta == 1) return;
  const std::int64_t grain = std::max<std::int64_t>(1, kScaledPerThread / p.m);
  ParallelFor(threads, p.n, grain, [&p](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      T* column = p.c + j * p.ldc;
      if (p.beta == 0) {
        std::fill(column, column + p.m, T{0});
      } else {
        for (std::int64_t i = 0; i < p.m; ++i) column[i] *= p.beta;
      }
    }
  });
}

void CallBlas(const MatrixProduct<float>& p) {
  cblas_sgemm(CblasColMajor, ToBlas(p.transpose_a), ToBlas(p.transpose_b), ToInt(p.m), ToInt(p.n),
              ToInt(p.k), p.alpha, p.a, ToInt(p.lda), p.b, ToInt(p.ldb), p.beta, p.c, ToInt(p.ldc));
}

void CallBlas(const MatrixProduct<double>& p) {
  cblas_dgemm(CblasColMajor, ToBlas(p.transpose_a), ToBlas(p.transpose_b), ToInt(p.m), ToInt(p.n),
              ToInt(p.k), p.alpha, p.a, ToInt(p.lda), p.b, ToInt(p.ldb), p.beta, p.c, ToInt(p.ldc));
}

template <typename T>
void MultiplyImpl(const MatrixProduct<T>& product, int threads) {
  if (product.m == 0 || product.n == 0) return;
  if (product.k == 0 || product.alpha == 0) {
    Scale(product, threads);
    return;
  }
  std::optional<MutexLock> lock;
  if (threads > 1) lock.emplace(ThreadedBlasMutex());
  CallBlas(product);
}

}  // namespace

void Multiply(const MatrixProduct<float>& product, int threads) { MultiplyImpl(product, threads); }
void Multiply(const MatrixProduct<double>& product, int threads) { MultiplyImpl(product, threads); }

}  // namespace acceld::cpu
