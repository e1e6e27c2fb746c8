#include "backends/cpu/ops/matrix_product.h"

#include <cblas.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "backends/core/mutex.h"
#include "backends/core/status.h"
#include "backends/cpu/ops/onednn_product.h"
#include "backends/cpu/ops/small_product.h"
#include "backends/cpu/ops/thin_product.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Less is not worth a thread, in elements.
constexpr std::int64_t kScaledPerThread = 64 * 1024;

// OpenBLAS has kernels for small products, of up to this many multiplications, that do not copy
// their operands and use one thread.
constexpr double kSmallMultiplications = 100.0 * 100 * 100;

// Beyond the small ones, own loops are faster for so few rows or columns, if they are two or more,
// since the libraries copy the long factor first. In f32 that takes long where they transpose it.
// Not for products of less depth.
constexpr std::int64_t kThinF64 = 20;
constexpr std::int64_t kThinF32 = 4;
constexpr std::int64_t kThinTransposedF32 = 32;
constexpr std::int64_t kLeastThinDepth = 64;

// Where two of the dimensions are below this, the third is cut into small products, unless it is
// k and oneDNN does it.
constexpr std::int64_t kSkinny = 64;

// Pieces are as long as a multiple of what kernels take at once.
constexpr std::int64_t kPieceStep = 16;

// The products of so many k are summed up at a time, so that sums keep their digits.
constexpr std::int64_t kDepthOfPiece = 2048;

// Of fewer columns with a transposed A, oneDNN's product is slow.
constexpr std::int64_t kOneDnnColumns = 64;

// The number of threads is a global of OpenBLAS, which a threaded product sets from this thread's;
// devices with different numbers must not get in each other's way. A product of one thread does not
// look at it.
Mutex& ThreadedBlasMutex() {
  static Mutex& mutex = *new Mutex;
  return mutex;
}

CBLAS_TRANSPOSE ToBlas(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

bool IsTransposed(Transpose transpose) { return transpose != Transpose::kNone; }

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
  cblas_sgemm(CblasColMajor, ToBlas(IsTransposed(p.transpose_a)),
              ToBlas(IsTransposed(p.transpose_b)), ToInt(p.m), ToInt(p.n), ToInt(p.k), p.alpha, p.a,
              ToInt(p.lda), p.b, ToInt(p.ldb), p.beta, p.c, ToInt(p.ldc));
}

void CallBlas(const MatrixProduct<double>& p) {
  cblas_dgemm(CblasColMajor, ToBlas(IsTransposed(p.transpose_a)),
              ToBlas(IsTransposed(p.transpose_b)), ToInt(p.m), ToInt(p.n), ToInt(p.k), p.alpha, p.a,
              ToInt(p.lda), p.b, ToInt(p.ldb), p.beta, p.c, ToInt(p.ldc));
}

// A matrix as stored, and a vector whose elements are `stride` apart.
template <typename T>
struct Matrix {
  bool transposed;
  std::int64_t rows;
  std::int64_t columns;
  const T* data;
  std::int64_t ld;
};

template <typename T>
struct Vector {
  T* data;
  std::int64_t stride;
};

// y += alpha op(matrix) x.
void AddProduct(const Matrix<float>& matrix, float alpha, Vector<const float> x, Vector<float> y) {
  cblas_sgemv(CblasColMajor, ToBlas(matrix.transposed), ToInt(matrix.rows), ToInt(matrix.columns),
              alpha, matrix.data, ToInt(matrix.ld), x.data, ToInt(x.stride), 1, y.data,
              ToInt(y.stride));
}

void AddProduct(const Matrix<double>& matrix, double alpha, Vector<const double> x,
                Vector<double> y) {
  cblas_dgemv(CblasColMajor, ToBlas(matrix.transposed), ToInt(matrix.rows), ToInt(matrix.columns),
              alpha, matrix.data, ToInt(matrix.ld), x.data, ToInt(x.stride), 1, y.data,
              ToInt(y.stride));
}

float Dot(std::int64_t n, Vector<const float> x, Vector<const float> y) {
  return cblas_sdot(ToInt(n), x.data, ToInt(x.stride), y.data, ToInt(y.stride));
}

double Dot(std::int64_t n, Vector<const double> x, Vector<const double> y) {
  return cblas_ddot(ToInt(n), x.data, ToInt(x.stride), y.data, ToInt(y.stride));
}

// Row i of op(A), which is a column of A as stored where that is transposed.
template <typename T>
Vector<const T> RowOfA(const MatrixProduct<T>& p, std::int64_t i) {
  if (IsTransposed(p.transpose_a)) return {p.a + i * p.lda, 1};
  return {p.a + i, p.lda};
}

// Column j of op(B), likewise.
template <typename T>
Vector<const T> ColumnOfB(const MatrixProduct<T>& p, std::int64_t j) {
  if (IsTransposed(p.transpose_b)) return {p.b + j, p.ldb};
  return {p.b + j * p.ldb, 1};
}

// A row or a column of C.
template <typename T>
void MultiplyVector(const MatrixProduct<T>& p, int threads) {
  Scale(p, threads);
  if (p.n == 1) {
    const bool transposed = IsTransposed(p.transpose_a);
    const Matrix<T> a{transposed, transposed ? p.k : p.m, transposed ? p.m : p.k, p.a, p.lda};
    AddProduct(a, p.alpha, ColumnOfB(p, 0), {p.c, 1});
    return;
  }
  const bool transposed = IsTransposed(p.transpose_b);
  // C^T = op(B)^T op(A)^T.
  const Matrix<T> b{!transposed, transposed ? p.n : p.k, transposed ? p.k : p.n, p.b, p.ldb};
  AddProduct(b, p.alpha, RowOfA(p, 0), {p.c, p.ldc});
}

// Where k is 1 and C a row or a column: y = alpha factor x + beta y.
template <typename T>
void MultiplyScalar(const MatrixProduct<T>& p) {
  const bool column = p.n == 1;
  const T factor = column ? *p.b : *p.a;
  const std::int64_t step_a = IsTransposed(p.transpose_a) ? p.lda : 1;
  const std::int64_t step_b = IsTransposed(p.transpose_b) ? 1 : p.ldb;
  const Vector<const T> x = column ? Vector<const T>{p.a, step_a} : Vector<const T>{p.b, step_b};
  const Vector<T> y = {p.c, column ? 1 : p.ldc};
  const std::int64_t length = std::max(p.m, p.n);
  if (p.beta == 0) {
    for (std::int64_t i = 0; i < length; ++i) {
      y.data[i * y.stride] = p.alpha * (factor * x.data[i * x.stride]);
    }
    return;
  }
  for (std::int64_t i = 0; i < length; ++i) {
    T& element = y.data[i * y.stride];
    element = p.alpha * (factor * x.data[i * x.stride]) + p.beta * element;
  }
}

// How many of a dimension make a small product, where the two others are `a` and `b`.
std::int64_t PieceLength(std::int64_t a, std::int64_t b) {
  const auto length = static_cast<std::int64_t>(kSmallMultiplications) / (a * b);
  return length / kPieceStep * kPieceStep;
}

// As small products of some rows of C, or of some columns.
template <typename T>
void MultiplyPieces(const MatrixProduct<T>& p, int threads) {
  const bool along_rows = p.m >= p.n;
  const std::int64_t length = std::max(p.m, p.n);
  const std::int64_t piece = PieceLength(std::min(p.m, p.n), p.k);
  const std::int64_t pieces = (length + piece - 1) / piece;
  ParallelFor(threads, pieces, /*grain=*/1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * piece; i < std::min(end * piece, length); i += piece) {
      MatrixProduct<T> part = p;
      const std::int64_t size = std::min(piece, length - i);
      if (along_rows) {
        part.m = size;
        part.a = RowOfA(p, i).data;
        part.c = p.c + i;
      } else {
        part.n = size;
        part.b = ColumnOfB(p, i).data;
        part.c = p.c + i * p.ldc;
      }
      CallBlas(part);
    }
  });
}

// As a sum of small products, of which each thread has some and, but for the first, a C of its own.
template <typename T>
void MultiplyAlongDepth(const MatrixProduct<T>& p, int threads) {
  const std::int64_t step_a = RowOfA(p, 0).stride;
  const std::int64_t step_b = ColumnOfB(p, 0).stride;
  const std::int64_t piece = std::min(kDepthOfPiece, PieceLength(p.m, p.n));
  const std::int64_t pieces = (p.k + piece - 1) / piece;
  const std::int64_t parts = std::min<std::int64_t>(threads, pieces);
  std::vector<T> sums(static_cast<std::size_t>((parts - 1) * p.m * p.n));
  ParallelFor(threads, parts, /*grain=*/1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      MatrixProduct<T> product = p;
      if (i > 0) {
        product.c = sums.data() + (i - 1) * p.m * p.n;
        product.ldc = p.m;
        product.beta = 0;
      }
      const std::int64_t last = std::min(p.k, pieces * (i + 1) / parts * piece);
      for (std::int64_t k = pieces * i / parts * piece; k < last; k += piece) {
        product.k = std::min(piece, last - k);
        product.a = p.a + k * step_a;
        product.b = p.b + k * step_b;
        CallBlas(product);
        product.beta = 1;
      }
    }
  });
  const T* more = sums.data();
  for (std::int64_t i = 1; i < parts; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j, more += p.m) {
      for (std::int64_t row = 0; row < p.m; ++row) p.c[j * p.ldc + row] += more[row];
    }
  }
}

template <typename T>
void MultiplyToOneElement(const MatrixProduct<T>& p) {
  const T dot = Dot(p.k, RowOfA(p, 0), ColumnOfB(p, 0));
  *p.c = p.alpha * dot + (p.beta == 0 ? 0 : p.beta * *p.c);
}

template <typename T>
double Multiplications(const MatrixProduct<T>& p) {
  return static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
}

template <typename T>
bool IsSmall(const MatrixProduct<T>& p) {
  return Multiplications(p) <= kSmallMultiplications;
}

template <typename T>
bool IsVector(const MatrixProduct<T>& p) {
  return std::min(p.m, p.n) == 1;
}

bool IsFasterThin(const MatrixProduct<double>& p) { return std::min(p.m, p.n) <= kThinF64; }

bool IsFasterThin(const MatrixProduct<float>& p) {
  const bool transposed = IsTransposed(p.m >= p.n ? p.transpose_a : p.transpose_b);
  return std::min(p.m, p.n) <= (transposed ? kThinTransposedF32 : kThinF32);
}

template <typename T>
bool HasThinLoops(const MatrixProduct<T>& p) {
  return p.k >= kLeastThinDepth && std::max(p.m, p.n) >= kSkinny && !IsVector(p) && IsFasterThin(p);
}

template <typename T>
bool IsSkinny(const MatrixProduct<T>& p) {
  return p.k < kSkinny && std::min(p.m, p.n) < kSkinny;
}

bool IsFasterByOneDnn(const MatrixProduct<float>& p) {
  if (IsTransposed(p.transpose_a) && p.n < kOneDnnColumns) return false;
  return HasFastOneDnnProduct();
}

// One call of OpenBLAS, or several.
template <typename T>
void MultiplyByBlas(const MatrixProduct<T>& p, int threads) {
  std::optional<MutexLock> lock;
  if (threads > 1) lock.emplace(ThreadedBlasMutex());
  if (p.m == 1 && p.n == 1) {
    MultiplyToOneElement(p);
  } else if (IsSmall(p)) {
    CallBlas(p);
  } else if (std::max(p.m, p.n) < kSkinny) {
    MultiplyAlongDepth(p, threads);
  } else if (IsVector(p)) {
    MultiplyVector(p, threads);
  } else {
    CallBlas(p);
  }
}

absl::Status MultiplyByLibrary(const MatrixProduct<double>& p, int threads) {
  MultiplyByBlas(p, threads);
  return absl::OkStatus();
}

absl::Status MultiplyByLibrary(const MatrixProduct<float>& p, int threads) {
  // OpenBLAS does not take over what oneDNN has failed at: C may have been scaled, and the bits
  // would depend on how much memory is left.
  if (!IsSmall(p) && !IsVector(p) && IsFasterByOneDnn(p)) return MultiplyByOneDnn(p);
  MultiplyByBlas(p, threads);
  return absl::OkStatus();
}

template <typename T>
absl::Status MultiplyImpl(const MatrixProduct<T>& p, int threads) {
  if (p.m == 0 || p.n == 0) return absl::OkStatus();
  if (p.k == 0 || p.alpha == 0) {
    Scale(p, threads);
  } else if (HasOwnLoops(p, /*in_batch=*/false)) {
    MultiplyByOwnLoops(p, /*strides=*/{}, /*count=*/1);
  } else if (p.k == 1 && std::min(p.m, p.n) == 1) {
    MultiplyScalar(p);
  } else if (!IsSmall(p) && IsSkinny(p)) {
    MultiplyPieces(p, threads);
  } else if (!IsSmall(p) && HasThinLoops(p)) {
    return MultiplyThin(p, /*rounding=*/std::nullopt, threads);
  } else {
    return MultiplyByLibrary(p, threads);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status MultiplyEachImpl(const MatrixProduct<T>& first, const ProductStrides& strides,
                              std::int64_t count) {
  if (first.alpha != 0 && HasOwnLoops(first, /*in_batch=*/true)) {
    MultiplyByOwnLoops(first, strides, count);
    return absl::OkStatus();
  }
  MatrixProduct<T> p = first;
  for (std::int64_t i = 0; i < count; ++i) {
    // Operands that are not read may be null.
    if (first.a != nullptr) p.a = first.a + i * strides.a;
    if (first.b != nullptr) p.b = first.b + i * strides.b;
    if (first.c != nullptr) p.c = first.c + i * strides.c;
    ACCELD_RETURN_IF_ERROR(MultiplyImpl(p, /*threads=*/1));
  }
  return absl::OkStatus();
}

}  // namespace

void ScaleC(const MatrixProduct<float>& product, int threads) { Scale(product, threads); }

absl::Status Multiply(const MatrixProduct<float>& product, int threads) {
  return MultiplyImpl(product, threads);
}

absl::Status Multiply(const MatrixProduct<double>& product, int threads) {
  return MultiplyImpl(product, threads);
}

absl::Status MultiplyEach(const MatrixProduct<float>& first, const ProductStrides& strides,
                          std::int64_t count) {
  return MultiplyEachImpl(first, strides, count);
}

absl::Status MultiplyEach(const MatrixProduct<double>& first, const ProductStrides& strides,
                          std::int64_t count) {
  return MultiplyEachImpl(first, strides, count);
}

}  // namespace acceld::cpu
