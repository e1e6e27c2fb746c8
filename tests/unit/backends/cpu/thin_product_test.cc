// Products of few rows or columns, and what their loops are made of.

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "backends/cpu/ops/transpose_columns.h"
#include "tests/unit/backends/cpu/gemm_testing.h"

namespace acceld {
namespace {

// Few rows or columns, many of the other, and a depth: less than a block, and several.
using Sizes = std::array<std::int64_t, 3>;

// Runs `op` of f32 or f64, or in mixed precision, for each transpose and for the few as rows and as
// columns.
template <typename T, typename GemmOp>
void ExpectLikeReferenceInAllForms(GemmOp op, const Sizes& sizes, double tolerance) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  const auto& [few, many, depth] = sizes;
  op.k = depth;
  for (const Transpose transpose_a : {Transpose::kNone, Transpose::kTranspose}) {
    for (const Transpose transpose_b : {Transpose::kNone, Transpose::kTranspose}) {
      for (const bool few_rows : {true, false}) {
        op.transpose_a = transpose_a;
        op.transpose_b = transpose_b;
        op.m = few_rows ? few : many;
        op.n = few_rows ? many : few;
        op.alpha = random.Pick({1.0F, -0.5F});
        op.beta = random.Pick({0.0F, 1.0F, -1.5F});
        ExpectLikeReference<T>(device, random, op, tolerance);
      }
    }
  }
}

TEST(CpuThinProduct, AgreesWithTheReferenceInF32) {
  for (const Sizes& sizes :
       {Sizes{2, 1031, 613}, {4, 521, 1500}, {9, 333, 391}, {17, 131, 533}, {31, 257, 150}}) {
    ExpectLikeReferenceInAllForms<float>(ops::Gemm{.type = DataType::kF32}, sizes, 4e-7);
  }
}

TEST(CpuThinProduct, AgreesWithTheReferenceInF64) {
  for (const Sizes& sizes :
       {Sizes{2, 1031, 613}, {3, 177, 2100}, {12, 333, 391}, {17, 131, 1033}, {20, 513, 150}}) {
    ExpectLikeReferenceInAllForms<double>(ops::Gemm{.type = DataType::kF64}, sizes, 8e-16);
  }
}

TEST(CpuThinProduct, AgreesWithTheReferenceInMixedPrecision) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const Sizes& sizes : {Sizes{1, 1031, 613},
                             {5, 70, 4099},
                             {18, 77, 63},
                             {19, 131, 1033},
                             {31, 257, 5},
                             {63, 333, 65},
                             {1, 2, 20'011},
                             {7, 11, 9001}}) {
    ops::GemmMixedPrecision op;
    op.precision = random.Pick({MixedPrecision::kF16, MixedPrecision::kBf16});
    ExpectLikeReferenceInAllForms<float>(op, sizes, 2e-6);
  }
}

// In a factor of few vectors, of which all others are 0, and with 0 in the other factor: a NaN
// reaches the row or the column that it is a factor of, and nothing else.
template <typename T>
void ExpectNaNSpreads(DataType type) {
  TestDevice device;
  constexpr std::int64_t kFew = 3;
  constexpr std::int64_t kMany = 1003;
  const std::vector<T> zeros(kMany * kMany);
  for (const Transpose transpose : {Transpose::kNone, Transpose::kTranspose}) {
    for (const bool few_rows : {true, false}) {
      // The NaN is in the second of the few vectors, at its end.
      const bool adjacent = few_rows == (transpose == Transpose::kTranspose);
      std::vector<T> vectors(kMany * kFew);
      vectors[adjacent ? 2 * kMany - 1 : (kMany - 1) * kFew + 1] = static_cast<T>(kNaN);
      std::vector<T> c(kMany * kFew, 7);
      ops::Gemm op{.type = type, .transpose_a = transpose, .transpose_b = transpose, .k = kMany};
      op.m = few_rows ? kFew : kMany;
      op.n = few_rows ? kMany : kFew;
      op.a = AddressOf(few_rows ? vectors : zeros);
      op.b = AddressOf(few_rows ? zeros : vectors);
      op.lda = few_rows && !adjacent ? kFew : kMany;
      op.ldb = few_rows || adjacent ? kMany : kFew;
      op.c = AddressOf(c);
      op.ldc = op.m;
      ASSERT_THAT(device.Run(Op(op)), IsOk());
      for (std::int64_t i = 0; i < kMany * kFew; ++i) {
        const std::int64_t vector = few_rows ? i % kFew : i / kMany;
        const T element = c[static_cast<std::size_t>(i)];
        EXPECT_TRUE(vector == 1 ? std::isnan(element) : element == 0) << i << ": " << element;
      }
    }
  }
}

TEST(CpuThinProduct, SpreadsNaNOfItsFactors) {
  ExpectNaNSpreads<float>(DataType::kF32);
  ExpectNaNSpreads<double>(DataType::kF64);
}

// Equal products, whose rounding errors all go one way.
TEST(CpuThinProduct, KeepsTheDigitsOfLongSums) {
  TestDevice device;
  constexpr std::int64_t kDepth = 30'011;
  for (const Transpose transpose_a : {Transpose::kNone, Transpose::kTranspose}) {
    for (const auto& [m, n] : {std::array<std::int64_t, 2>{1, 1}, {64, 4}, {64, 19}}) {
      const std::vector<float> a(static_cast<std::size_t>(m * kDepth), 0.1F);
      const std::vector<float> b(static_cast<std::size_t>(n * kDepth), 0.9F);
      const std::vector<float> c(static_cast<std::size_t>(m * n));
      ops::GemmMixedPrecision op{
          .precision = MixedPrecision::kF16, .transpose_a = transpose_a, .m = m, .n = n};
      op.k = op.ldb = kDepth;
      op.lda = transpose_a == Transpose::kNone ? m : kDepth;
      op.ldc = m;
      op.a = AddressOf(a);
      op.b = AddressOf(b);
      ExpectLikeReference(device, op, c, 2e-6, 0);
    }
  }
}

template <typename T>
class CpuTransposeColumns : public testing::Test {};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(CpuTransposeColumns, Types);

// Vectors end with the operands, where AddressSanitizer sees what lies behind.
TYPED_TEST(CpuTransposeColumns, AgreesForEveryShape) {
  constexpr std::int64_t kMost = 21;
  for (std::int64_t rows = 1; rows <= kMost; ++rows) {
    for (std::int64_t columns = 1; columns <= kMost; ++columns) {
      for (const std::int64_t ld : {rows, rows + 1, rows + 5}) {
        std::vector<TypeParam> from(static_cast<std::size_t>(Count(rows, columns, ld)));
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<TypeParam>(i);
        std::vector<TypeParam> to(static_cast<std::size_t>(rows * columns));
        cpu::TransposeColumns(from.data(), ld, rows, columns, to.data());
        std::vector<TypeParam> expected;
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < columns; ++j) {
            expected.push_back(static_cast<TypeParam>(j * ld + i));
          }
        }
        EXPECT_EQ(to, expected) << rows << " x " << columns << ", " << ld << " apart";
      }
    }
  }
}

}  // namespace
}  // namespace acceld
