#include "backends/cpu/ops/small_product.h"

#include <algorithm>

#include "backends/cpu/openblas_core.h"
#include "backends/cpu/ops/small_kernels.h"
#include "backends/cpu/ops/transpose_columns.h"

namespace acceld::cpu {
namespace {

// A call of a kernel takes longer than so many.
constexpr std::int64_t kTinyMultiplications = 128;

// Beyond so many, libraries copy their operands to where they are read faster.
constexpr double kMostMultiplications = 100.0 * 100 * 100;
constexpr std::int64_t kMaxDepth = 512;

// A transposed A of up to so many elements is copied to where a column lies in one piece. That pays
// from so many columns of C on.
constexpr std::int64_t kMaxCopied = 10 * 1024;
constexpr std::int64_t kLeastColumnsOfCopied = 20;

// Of fewer columns a tile has too few sums to keep the processor busy.
constexpr std::int64_t kLeastColumns = 8;

// A tile of a tiny product has up to so many rows and columns.
constexpr std::int64_t kTile = 4;
// So many products are computed tile by tile; they stay in the first-level cache.
constexpr std::int64_t kTinyProducts = 32;

template <typename T>
double Multiplications(const MatrixProduct<T>& p) {
  return static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
}

template <typename T>
bool IsTiny(const MatrixProduct<T>& p) {
  return Multiplications(p) <= kTinyMultiplications;
}

// For a processor it does not know OpenBLAS has products without AVX. For others one product by
// itself is as fast by OpenBLAS, unless A is transposed.
bool KnowsOpenBlasProcessor() {
  static const bool knows = BetterOpenBlasCore(OpenBlasCore()).empty();
  return knows;
}

template <typename T>
bool HasOwnLoopsImpl(const MatrixProduct<T>& p, bool in_batch) {
  if (p.m == 0 || p.n == 0 || p.k == 0) return false;
  if (IsTiny(p)) return true;
  if (p.m < LeastKernelRows<T>() || p.n < kLeastColumns || p.k > kMaxDepth ||
      Multiplications(p) > kMostMultiplications) {
    return false;
  }
  const bool copies_a = p.transpose_a != Transpose::kNone;
  if (copies_a && p.m * p.k > kMaxCopied) return false;
  return !KnowsOpenBlasProcessor() || (copies_a ? p.n >= kLeastColumnsOfCopied : in_batch);
}

// The distances of elements of op(A) and op(B).
struct Steps {
  std::int64_t rows_of_a;
  std::int64_t columns_of_a;
  std::int64_t rows_of_b;
  std::int64_t columns_of_b;
};

template <typename T>
Steps StepsOf(const MatrixProduct<T>& p) {
  const bool plain_a = p.transpose_a == Transpose::kNone;
  const bool plain_b = p.transpose_b == Transpose::kNone;
  return {.rows_of_a = plain_a ? 1 : p.lda,
          .columns_of_a = plain_a ? p.lda : 1,
          .rows_of_b = plain_b ? 1 : p.ldb,
          .columns_of_b = plain_b ? p.ldb : 1};
}

// Of `count` products kRows x kColumns elements of C, from row i and column j on.
template <typename T, int kRows, int kColumns>
void MultiplyTile(const MatrixProduct<T>& p, const ProductStrides& strides, std::int64_t count,
                  std::int64_t i, std::int64_t j) {
  const Steps steps = StepsOf(p);
  const T alpha = p.alpha;
  const T beta = p.beta;
  const std::int64_t k = p.k;
  const std::int64_t ldc = p.ldc;
  const T* const first_a = p.a + i * steps.rows_of_a;
  const T* const first_b = p.b + j * steps.columns_of_b;
  T* const first_c = p.c + i + j * ldc;
  for (std::int64_t index = 0; index < count; ++index) {
    const T* a = first_a + index * strides.a;
    const T* b = first_b + index * strides.b;
    T* c = first_c + index * strides.c;
    T sums[kColumns][kRows] = {};
    for (std::int64_t l = 0; l < k; ++l, a += steps.columns_of_a, b += steps.rows_of_b) {
      for (int column = 0; column < kColumns; ++column) {
        const T factor = b[column * steps.columns_of_b];
        for (int row = 0; row < kRows; ++row) {
          sums[column][row] += a[row * steps.rows_of_a] * factor;
        }
      }
    }
    for (int column = 0; column < kColumns; ++column) {
      for (int row = 0; row < kRows; ++row) {
        T& element = c[row + column * ldc];
        element = alpha * sums[column][row] + (beta == 0 ? 0 : beta * element);
      }
    }
  }
}

template <typename T>
using Tile = void (*)(const MatrixProduct<T>& p, const ProductStrides& strides, std::int64_t count,
                      std::int64_t i, std::int64_t j);

// By rows and columns, each less 1.
template <typename T>
constexpr Tile<T> kTiles[kTile][kTile] = {
    {MultiplyTile<T, 1, 1>, MultiplyTile<T, 1, 2>, MultiplyTile<T, 1, 3>, MultiplyTile<T, 1, 4>},
    {MultiplyTile<T, 2, 1>, MultiplyTile<T, 2, 2>, MultiplyTile<T, 2, 3>, MultiplyTile<T, 2, 4>},
    {MultiplyTile<T, 3, 1>, MultiplyTile<T, 3, 2>, MultiplyTile<T, 3, 3>, MultiplyTile<T, 3, 4>},
    {MultiplyTile<T, 4, 1>, MultiplyTile<T, 4, 2>, MultiplyTile<T, 4, 3>, MultiplyTile<T, 4, 4>}};

template <typename T>
void MultiplyTiny(const MatrixProduct<T>& first, const ProductStrides& strides,
                  std::int64_t count) {
  MatrixProduct<T> p = first;
  for (std::int64_t done = 0; done < count; done += kTinyProducts) {
    p.a = first.a + done * strides.a;
    p.b = first.b + done * strides.b;
    p.c = first.c + done * strides.c;
    const std::int64_t products = std::min(kTinyProducts, count - done);
    for (std::int64_t j = 0; j < p.n; j += kTile) {
      for (std::int64_t i = 0; i < p.m; i += kTile) {
        const auto tile = kTiles<T>[std::min(p.m - i, kTile) - 1][std::min(p.n - j, kTile) - 1];
        tile(p, strides, products, i, j);
      }
    }
  }
}

template <typename T>
void MultiplyByKernel(const MatrixProduct<T>& first, const ProductStrides& strides,
                      std::int64_t count) {
  const Steps steps = StepsOf(first);
  std::int64_t a_columns[kMaxDepth];
  std::int64_t b_rows[kMaxDepth];
  for (std::int64_t l = 0; l < first.k; ++l) {
    a_columns[l] = l * steps.columns_of_a;
    b_rows[l] = l * steps.rows_of_b;
  }
  RunKernel<T>({.m = first.m,
                .n = first.n,
                .k = first.k,
                .alpha = first.alpha,
                .a = first.a,
                .a_columns = a_columns,
                .b = first.b,
                .b_rows = b_rows,
                .b_step = steps.columns_of_b,
                .beta = first.beta,
                .c = first.c,
                .ldc = first.ldc},
               strides, count);
}

// The same where A is transposed, on copies that are not.
template <typename T>
void MultiplyTransposed(const MatrixProduct<T>& first, const ProductStrides& strides,
                        std::int64_t count) {
  T columns[kMaxCopied];
  MatrixProduct<T> p = first;
  p.transpose_a = Transpose::kNone;
  p.a = columns;
  p.lda = p.m;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i == 0 || strides.a != 0) {
      TransposeColumns(first.a + i * strides.a, first.lda, first.k, first.m, columns);
    }
    MultiplyByKernel(p, {}, 1);
    p.b += strides.b;
    p.c += strides.c;
  }
}

template <typename T>
void MultiplyByOwnLoopsImpl(const MatrixProduct<T>& first, const ProductStrides& strides,
                            std::int64_t count) {
  if (IsTiny(first)) {
    MultiplyTiny(first, strides, count);
  } else if (first.transpose_a != Transpose::kNone) {
    MultiplyTransposed(first, strides, count);
  } else {
    MultiplyByKernel(first, strides, count);
  }
}

}  // namespace

bool HasOwnLoops(const MatrixProduct<float>& product, bool in_batch) {
  return HasOwnLoopsImpl(product, in_batch);
}

bool HasOwnLoops(const MatrixProduct<double>& product, bool in_batch) {
  return HasOwnLoopsImpl(product, in_batch);
}

void MultiplyByOwnLoops(const MatrixProduct<float>& first, const ProductStrides& strides,
                        std::int64_t count) {
  MultiplyByOwnLoopsImpl(first, strides, count);
}

void MultiplyByOwnLoops(const MatrixProduct<double>& first, const ProductStrides& strides,
                        std::int64_t count) {
  MultiplyByOwnLoopsImpl(first, strides, count);
}

}  // namespace acceld::cpu
