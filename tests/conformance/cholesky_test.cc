// A blocked Cholesky factorization in place, A = L L^T, built of gemms on blocks of one matrix:
// their operands interleave in memory and never share an element.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

// Column-major [rows, columns] with leading dimension `ld` on the host.
template <typename T>
struct HostMatrix {
  std::int64_t ld = 0;
  std::vector<T> values;

  HostMatrix(std::int64_t rows, std::int64_t columns)
      : ld(rows), values(static_cast<std::size_t>(rows * columns)) {}
  T& At(std::int64_t row, std::int64_t column) {
    return values[static_cast<std::size_t>(row + column * ld)];
  }
};

// The Cholesky factor of the lower triangle of a small matrix, in place; its upper triangle is 0.
template <typename T>
void FactorOnHost(HostMatrix<T>& block, std::int64_t size) {
  for (std::int64_t j = 0; j < size; ++j) {
    for (std::int64_t i = 0; i < j; ++i) block.At(i, j) = 0;
    for (std::int64_t i = j; i < size; ++i) {
      T sum = block.At(i, j);
      for (std::int64_t p = 0; p < j; ++p) sum -= block.At(i, p) * block.At(j, p);
      block.At(i, j) = i == j ? std::sqrt(sum) : sum / block.At(j, j);
    }
  }
}

// The inverse of a lower triangular matrix.
template <typename T>
HostMatrix<T> InverseOnHost(HostMatrix<T>& lower, std::int64_t size) {
  HostMatrix<T> inverse(size, size);
  for (std::int64_t j = 0; j < size; ++j) {
    for (std::int64_t i = j; i < size; ++i) {
      T sum = i == j ? 1 : 0;
      for (std::int64_t p = j; p < i; ++p) sum -= lower.At(i, p) * inverse.At(p, j);
      inverse.At(i, j) = sum / lower.At(i, i);
    }
  }
  return inverse;
}

template <typename T>
class CholeskyTest : public ConformanceTest {
 protected:
  static constexpr std::int64_t kSize = 193;
  static constexpr std::int64_t kLd = 200;
  static constexpr std::int64_t kBlock = 48;

  Address At(std::int64_t row, std::int64_t column) const {
    return matrix_ + static_cast<std::uint64_t>(row + column * kLd) * sizeof(T);
  }

  HostMatrix<T> DownloadBlock(std::int64_t first, std::int64_t size) {
    HostMatrix<T> block(size, size);
    for (std::int64_t j = 0; j < size; ++j) {
      const auto column =
          this->template Download<T>(At(first, first + j), static_cast<std::size_t>(size));
      std::copy(column.begin(), column.end(), &block.At(0, j));
    }
    return block;
  }

  // The lower triangle, column by column.
  void UploadLower(HostMatrix<T>& block, std::int64_t first, std::int64_t size) {
    for (std::int64_t j = 0; j < size; ++j) {
      const auto* start = reinterpret_cast<const std::byte*>(&block.At(j, j));
      Write(At(first + j, first + j), {start, static_cast<std::size_t>(size - j) * sizeof(T)});
    }
  }

  void Multiply(ops::Gemm op) {
    op.type = kTypeOf<T>;
    EXPECT_TRUE(IsOk(backend().Gemm(op)));
  }

  // The rows below the diagonal block: L21 = A21 L11^-T, by way of a copy of A21.
  void SolvePanel(std::int64_t first, std::int64_t size, HostMatrix<T>& diagonal) {
    const std::int64_t below = kSize - first - size;
    const Address inverse = this->Upload(InverseOnHost(diagonal, size).values);
    const Address copy = Alloc(static_cast<std::uint64_t>(below * size) * sizeof(T));
    for (std::int64_t j = 0; j < size; ++j) {
      EXPECT_TRUE(IsOk(backend().CopyDtoD(copy + static_cast<std::uint64_t>(j * below) * sizeof(T),
                                          At(first + size, first + j),
                                          static_cast<std::uint64_t>(below) * sizeof(T))));
    }
    Multiply({.transpose_b = Transpose::kTranspose,
              .m = below,
              .n = size,
              .k = size,
              .a = copy,
              .lda = below,
              .b = inverse,
              .ldb = size,
              .c = At(first + size, first),
              .ldc = kLd});
    EXPECT_TRUE(IsOk(backend().Free(inverse)));
    EXPECT_TRUE(IsOk(backend().Free(copy)));
  }

  // A22 -= L21 L21^T, block column by block column, the lower triangle's blocks only.
  void UpdateTrailingMatrix(std::int64_t first, std::int64_t size) {
    for (std::int64_t j = first + size; j < kSize; j += kBlock) {
      Multiply({.transpose_b = Transpose::kConjugateTranspose,
                .m = kSize - j,
                .n = std::min(kBlock, kSize - j),
                .k = size,
                .alpha = -1,
                .a = At(j, first),
                .lda = kLd,
                .b = At(j, first),
                .ldb = kLd,
                .beta = 1,
                .c = At(j, j),
                .ldc = kLd});
    }
  }

  Address matrix_ = 0;
};

using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(CholeskyTest, ElementTypes);

TYPED_TEST(CholeskyTest, FactorsInPlace) {
  using T = TypeParam;
  constexpr std::int64_t kSize = TestFixture::kSize;
  constexpr std::int64_t kLd = TestFixture::kLd;

  // Symmetric and positive definite: X X^T + n I. Between the columns, what must stay.
  HostMatrix<T> x(kSize, kSize);
  x.values = this->random_.template Vector<T>(kSize * kSize);
  HostMatrix<T> a(kLd, kSize);
  a.values = this->random_.template Vector<T>(kLd * kSize);
  for (std::int64_t j = 0; j < kSize; ++j) {
    for (std::int64_t i = 0; i < kSize; ++i) {
      T sum = i == j ? static_cast<T>(kSize) : 0;
      for (std::int64_t p = 0; p < kSize; ++p) sum += x.At(i, p) * x.At(j, p);
      a.At(i, j) = sum;
    }
  }
  this->matrix_ = this->Upload(a.values);

  for (std::int64_t first = 0; first < kSize; first += TestFixture::kBlock) {
    const std::int64_t size = std::min(TestFixture::kBlock, kSize - first);
    HostMatrix<T> diagonal = this->DownloadBlock(first, size);
    FactorOnHost(diagonal, size);
    this->UploadLower(diagonal, first, size);
    if (first + size == kSize) break;
    this->SolvePanel(first, size, diagonal);
    this->UpdateTrailingMatrix(first, size);
  }

  HostMatrix<T> factor(kLd, kSize);
  factor.values = this->template Download<T>(this->matrix_, factor.values.size());
  const double tolerance = sizeof(T) == 8 ? 1e-13 : 1e-5;
  for (std::int64_t j = 0; j < kSize; ++j) {
    for (std::int64_t i = j; i < kSize; ++i) {
      double sum = 0;
      for (std::int64_t p = 0; p <= j; ++p) {
        sum += static_cast<double>(factor.At(i, p)) * static_cast<double>(factor.At(j, p));
      }
      ASSERT_NEAR(sum, a.At(i, j), tolerance * kSize) << i << ", " << j;
    }
    for (std::int64_t i = kSize; i < kLd; ++i) ASSERT_EQ(factor.At(i, j), a.At(i, j)) << i;
    // Above the diagonal blocks nothing was written.
    for (std::int64_t i = 0; i < j / TestFixture::kBlock * TestFixture::kBlock; ++i) {
      ASSERT_EQ(factor.At(i, j), a.At(i, j)) << i << ", " << j;
    }
  }
}

}  // namespace
}  // namespace acceld::conformance
