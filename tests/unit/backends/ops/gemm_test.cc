// The checks of the three gemm ops, which share them (gemm_checks.cc).
#include "backends/ops/gemm.h"

#include <cmath>
#include <limits>

#include "backends/ops/batched_gemm.h"
#include "backends/ops/gemm_mixed_precision.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld::ops {
namespace {

constexpr std::int64_t kLimit = std::int64_t{1} << 31;
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

template <typename Op>
class AnyGemmTest : public ::testing::Test {
 protected:
  // C [4, 5] = A [4, 6] B [6, 5], leading dimensions as small as can be.
  static Op Valid() {
    Op op;
    op.m = 4;
    op.n = 5;
    op.k = 6;
    op.lda = 4;
    op.ldb = 6;
    op.ldc = 4;
    if constexpr (requires { op.batch; }) op.batch = 1;
    return op;
  }

  static Op With(std::int64_t Op::*field, std::int64_t value) {
    Op op = Valid();
    op.*field = value;
    return op;
  }
};

using GemmOps = ::testing::Types<Gemm, GemmMixedPrecision, BatchedGemm>;
TYPED_TEST_SUITE(AnyGemmTest, GemmOps);

TYPED_TEST(AnyGemmTest, AcceptsTheSmallestLeadingDimensions) {
  EXPECT_THAT(this->Valid().Check(), IsOk());
}

TYPED_TEST(AnyGemmTest, SizesAreBelow2To31AndNotNegative) {
  for (auto field : {&TypeParam::m, &TypeParam::n, &TypeParam::k}) {
    for (std::int64_t bad : {std::int64_t{-1}, kLimit, kLimit * 2, kMaxInt64}) {
      EXPECT_THAT(this->With(field, bad).Check(), IsInvalid("below 2147483648"));
    }
    EXPECT_THAT(this->With(field, 0).Check(), IsOk());
  }
}

TYPED_TEST(AnyGemmTest, LeadingDimensionsAreBelow2To31) {
  for (auto field : {&TypeParam::lda, &TypeParam::ldb, &TypeParam::ldc}) {
    EXPECT_THAT(this->With(field, kLimit - 1).Check(), IsOk());
    for (std::int64_t bad : {kLimit, kLimit * 2, kMaxInt64}) {
      EXPECT_THAT(this->With(field, bad).Check(), IsInvalid("below 2147483648"));
    }
  }
}

TYPED_TEST(AnyGemmTest, LeadingDimensionsAreAtLeastTheStoredRows) {
  EXPECT_THAT(this->With(&TypeParam::lda, 3).Check(), IsInvalid("is 3; it must be at least 4"));
  EXPECT_THAT(this->With(&TypeParam::ldb, 5).Check(), IsInvalid("is 5; it must be at least 6"));
  EXPECT_THAT(this->With(&TypeParam::ldc, 3).Check(), IsInvalid("is 3; it must be at least 4"));
}

TYPED_TEST(AnyGemmTest, TransposedFactorsHaveOtherStoredRows) {
  for (Transpose transpose : {Transpose::kTranspose, Transpose::kConjugateTranspose}) {
    TypeParam op = this->Valid();
    op.transpose_a = transpose;
    EXPECT_THAT(op.Check(), IsInvalid("Argument lda of"));
    op.lda = 6;
    EXPECT_THAT(op.Check(), IsOk());
    op.transpose_b = transpose;
    op.ldb = 5;
    EXPECT_THAT(op.Check(), IsOk());
    op.ldb = 4;
    EXPECT_THAT(op.Check(), IsInvalid("Argument ldb of"));
  }
}

TYPED_TEST(AnyGemmTest, LeadingDimensionsAreAtLeast1WhereThereIsNoRow) {
  TypeParam op = this->Valid();
  op.m = op.n = op.k = 0;
  op.lda = op.ldb = op.ldc = 1;
  EXPECT_THAT(op.Check(), IsOk());
  for (auto field : {&TypeParam::lda, &TypeParam::ldb, &TypeParam::ldc}) {
    TypeParam zero = op;
    zero.*field = 0;
    EXPECT_THAT(zero.Check(), IsInvalid("is 0; it must be at least 1"));
  }
}

TYPED_TEST(AnyGemmTest, LeadingDimensionsAreCheckedWhereTheFactorsAreNotRead) {
  TypeParam op = this->Valid();
  op.alpha = 0;
  op.lda = 3;
  EXPECT_THAT(op.Check(), IsInvalid("Argument lda of"));
}

TYPED_TEST(AnyGemmTest, UnknownEnumsAreRefused) {
  for (int number : {0, 4, 255}) {
    TypeParam op = this->Valid();
    op.transpose_a = static_cast<Transpose>(number);
    EXPECT_THAT(op.Check(), IsInvalid("Argument transpose_a of"));
    op = this->Valid();
    op.transpose_b = static_cast<Transpose>(number);
    EXPECT_THAT(op.Check(), IsInvalid("Argument transpose_b of"));
    op = this->Valid();
    if constexpr (requires { op.type; }) {
      op.type = static_cast<DataType>(number);
      EXPECT_THAT(op.Check(), IsInvalid("it must be one of f32 to f64"));
    } else {
      op.precision = static_cast<MixedPrecision>(number);
      EXPECT_THAT(op.Check(), IsInvalid("it must be one of f16 to bf16"));
    }
  }
}

TYPED_TEST(AnyGemmTest, MatricesEndWithin2To62Bytes) {
  // (2^29 - 1) * (2^31 - 1) + 1 elements fit; four times as many columns do not.
  for (std::int64_t TypeParam::*ld : {&TypeParam::lda, &TypeParam::ldb, &TypeParam::ldc}) {
    TypeParam op = this->Valid();
    op.m = op.n = op.k = 1 << 29;
    op.lda = op.ldb = op.ldc = 1 << 29;
    EXPECT_THAT(op.Check(), IsOk());
    op.*ld = kLimit - 1;
    EXPECT_THAT(op.Check(), IsOk());
    op.m = op.n = op.k = kLimit - 1;
    op.lda = op.ldb = op.ldc = kLimit - 1;
    EXPECT_THAT(op.Check(), IsInvalid("at most 4611686018427387904 bytes"));
  }
}

TYPED_TEST(AnyGemmTest, FactorsThatAreNotReadHaveNoSize) {
  TypeParam op = this->Valid();
  op.m = op.lda = op.ldc = op.k = op.ldb = kLimit - 1;
  op.n = 1;
  EXPECT_THAT(op.Check(), IsInvalid("Argument a of"));
  op.alpha = 0;
  EXPECT_THAT(op.Check(), IsOk());
}

TYPED_TEST(AnyGemmTest, OperandsAreColumnMajorMatrices) {
  TypeParam op = this->Valid();
  op.lda = 10;
  op.ldb = 20;
  op.ldc = 30;
  op.a = 1;
  const OperandList operands = op.Operands();
  ASSERT_EQ(operands.size(), 3u);
  EXPECT_EQ(operands[0].address, &op.a);
  EXPECT_EQ(operands[1].address, &op.b);
  EXPECT_EQ(operands[2].address, &op.c);
  EXPECT_EQ(operands[0].row_bytes, 4 * 4u);
  EXPECT_EQ(operands[0].pitch_bytes, 10 * 4u);
  EXPECT_EQ(operands[0].rows, 6u);
  EXPECT_EQ(operands[1].row_bytes, 6 * 4u);
  EXPECT_EQ(operands[1].rows, 5u);
  EXPECT_EQ(operands[2].row_bytes, 4 * 4u);
  EXPECT_EQ(operands[2].pitch_bytes, 30 * 4u);
  EXPECT_EQ(operands[2].rows, 5u);
  EXPECT_EQ(operands[0].access, Access::kRead);
  EXPECT_EQ(operands[1].access, Access::kRead);
}

TYPED_TEST(AnyGemmTest, TransposedOperandsAreTheStoredMatrices) {
  TypeParam op = this->Valid();
  op.transpose_a = Transpose::kTranspose;
  op.transpose_b = Transpose::kConjugateTranspose;
  op.lda = 6;
  op.ldb = 5;
  const OperandList operands = op.Operands();
  EXPECT_EQ(operands[0].row_bytes, 6 * 4u);
  EXPECT_EQ(operands[0].rows, 4u);
  EXPECT_EQ(operands[1].row_bytes, 5 * 4u);
  EXPECT_EQ(operands[1].rows, 6u);
}

TYPED_TEST(AnyGemmTest, WithAlphaOrK0TheFactorsHaveNoBytes) {
  TypeParam no_alpha = this->Valid();
  no_alpha.alpha = 0;
  TypeParam no_k = this->Valid();
  no_k.k = 0;
  for (TypeParam& op : std::array{no_alpha, no_k}) {
    const OperandList operands = op.Operands();
    EXPECT_TRUE(operands[0].Empty());
    EXPECT_TRUE(operands[1].Empty());
    EXPECT_FALSE(operands[2].Empty());
  }
}

TYPED_TEST(AnyGemmTest, NanAlphaReadsTheFactors) {
  TypeParam op = this->Valid();
  op.alpha = std::nanf("");
  EXPECT_FALSE(op.Operands()[0].Empty());
}

TYPED_TEST(AnyGemmTest, CIsReadUnlessBetaIs0) {
  TypeParam op = this->Valid();
  op.beta = 0;
  EXPECT_EQ(op.Operands()[2].access, Access::kWrite);
  op.beta = -0.0f;
  EXPECT_EQ(op.Operands()[2].access, Access::kWrite);
  op.beta = 0.5f;
  EXPECT_EQ(op.Operands()[2].access, Access::kReadWrite);
  op.beta = std::nanf("");
  EXPECT_EQ(op.Operands()[2].access, Access::kReadWrite);
}

TYPED_TEST(AnyGemmTest, FlopsAreAboutTwicePerProduct) {
  EXPECT_NEAR(this->Valid().Flops(), 2 * 4 * 5 * 6, 20);
  EXPECT_EQ(this->With(&TypeParam::n, 0).Flops(), 0);
}

TEST(GemmTest, F64ElementsHave8Bytes) {
  Gemm op{.type = DataType::kF64, .m = 4, .n = 5, .k = 6, .lda = 4, .ldb = 6, .ldc = 4};
  EXPECT_EQ(op.Operands()[0].row_bytes, 32u);
  EXPECT_EQ(op.Operands()[0].element_bytes, 8u);
}

BatchedGemm ValidBatch() {
  return {.m = 2, .n = 2, .k = 2, .lda = 2, .ldb = 2, .ldc = 2, .stride_c = 4, .batch = 3};
}

TEST(BatchedGemmTest, StridesAndBatchAreBelow2To31AndNotNegative) {
  for (auto field : {&BatchedGemm::stride_a, &BatchedGemm::stride_b, &BatchedGemm::stride_c,
                     &BatchedGemm::batch}) {
    BatchedGemm op = ValidBatch();
    op.*field = kLimit - 1;
    EXPECT_THAT(op.Check(), IsOk());
    op.*field = 0;
    EXPECT_THAT(op.Check(), IsOk());
    for (std::int64_t bad : {std::int64_t{-1}, kLimit, kLimit * 2, kMaxInt64}) {
      op.*field = bad;
      EXPECT_THAT(op.Check(), IsInvalid("it must be at least 0 and below 2147483648"));
    }
  }
}

TEST(BatchedGemmTest, TheLastProductEndsWithin2To62Bytes) {
  BatchedGemm op = ValidBatch();
  op.type = DataType::kF64;
  op.stride_a = kLimit - 1;
  op.batch = 1 << 28;
  EXPECT_THAT(op.Check(), IsOk());
  op.batch = kLimit - 1;
  EXPECT_THAT(op.Check(), IsInvalid("Argument a of batched_gemm"));
}

TEST(BatchedGemmTest, StridesCountElements) {
  BatchedGemm op = ValidBatch();
  op.type = DataType::kF64;
  const OperandList operands = op.Operands();
  EXPECT_EQ(operands[2].batch_stride_bytes, 32u);
  EXPECT_EQ(operands[2].batches, 3u);
  EXPECT_EQ(operands[0].batch_stride_bytes, 0u);
}

TEST(BatchedGemmTest, WithBatch0EveryOperandIsEmpty) {
  BatchedGemm op = ValidBatch();
  op.batch = 0;
  EXPECT_THAT(op.Check(), IsOk());
  for (const Operand& operand : op.Operands()) EXPECT_TRUE(operand.Empty());
}

}  // namespace
}  // namespace acceld::ops
