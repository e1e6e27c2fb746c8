// Products of few rows or columns, and what their loops are made of.

#include <array>
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

// Each with 0 in the other factor: a NaN reaches its row or its column, and nothing else.
TEST(CpuThinProduct, SpreadsNaNOfItsFactors) {
  TestDevice device;
  constexpr std::int64_t kFew = 3;
  constexpr std::int64_t kMany = 1000;
  for (const Transpose transpose : {Transpose::kNone, Transpose::kTranspose}) {
    const bool plain = transpose == Transpose::kNone;
    const std::vector<double> a(kMany * kMany);
    std::vector<double> b(kMany * kFew);
    b[plain ? kMany + 501 : 501 * kFew + 1] = kNaN;
    std::vector<double> c(kMany * kFew, 7);
    ASSERT_THAT(device.Run(Op(ops::Gemm{.type = DataType::kF64,
                                        .transpose_a = transpose,
                                        .transpose_b = transpose,
                                        .m = kMany,
                                        .n = kFew,
                                        .k = kMany,
                                        .a = AddressOf(a),
                                        .lda = kMany,
                                        .b = AddressOf(b),
                                        .ldb = plain ? kMany : kFew,
                                        .c = AddressOf(c),
                                        .ldc = kMany})),
                IsOk());
    EXPECT_THAT(absl::MakeSpan(c).first(kMany), testing::Each(0));
    EXPECT_THAT(absl::MakeSpan(c).subspan(kMany, kMany), testing::Each(testing::IsNan()));
    EXPECT_THAT(absl::MakeSpan(c).last(kMany), testing::Each(0));
  }
}

// Equal products, whose rounding errors all go one way.
TEST(CpuThinProduct, KeepsTheDigitsOfLongSums) {
  TestDevice device;
  constexpr std::int64_t kDepth = 1'000'003;
  const std::vector<float> a(kDepth, 0.25F);
  const std::vector<float> b(kDepth, 0.4F);
  std::vector<float> c(1);
  ops::GemmMixedPrecision op{.precision = MixedPrecision::kF16, .m = 1, .n = 1, .k = kDepth};
  op.lda = op.ldc = 1;
  op.ldb = kDepth;
  op.a = AddressOf(a);
  op.b = AddressOf(b);
  ExpectLikeReference(device, op, c, 1e-6, 0);
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
