// The checks of unary and binary.
#include <limits>

#include "backends/ops/binary.h"
#include "backends/ops/unary.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld::ops {
namespace {

template <typename Op>
class ElementwiseTest : public ::testing::Test {};

using ElementwiseOps = ::testing::Types<Unary, Binary>;
TYPED_TEST_SUITE(ElementwiseTest, ElementwiseOps);

TYPED_TEST(ElementwiseTest, NIsACountOfAtMost2To62Bytes) {
  for (std::int64_t n : {std::int64_t{0}, std::int64_t{1} << 31, std::int64_t{1} << 60}) {
    EXPECT_THAT(TypeParam{.n = n}.Check(), IsOk());
  }
  for (std::int64_t n :
       {std::int64_t{-1}, (std::int64_t{1} << 60) + 1, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_THAT(TypeParam{.n = n}.Check(), IsInvalid("Argument n of"));
  }
}

TYPED_TEST(ElementwiseTest, UnknownOpsAreRefused) {
  for (int number : {0, 9, 255}) {
    TypeParam op{.n = 1};
    op.op = static_cast<decltype(op.op)>(number);
    EXPECT_THAT(op.Check(), IsInvalid("Argument op of"));
  }
}

TYPED_TEST(ElementwiseTest, EveryOperandHasNElementsAndOnlyTheLastIsWritten) {
  TypeParam op{.n = 7};
  const OperandList operands = op.Operands();
  for (const Operand& operand : operands) {
    EXPECT_TRUE(operand.ExtentBytes() == 28);
    EXPECT_EQ(operand.access, &operand == &operands.back() ? Access::kWrite : Access::kRead);
  }
  EXPECT_EQ(operands.back().address, &op.output);
}

TYPED_TEST(ElementwiseTest, OneFlopPerElement) { EXPECT_EQ(TypeParam{.n = 7}.Flops(), 7); }

TEST(UnaryTest, ReadsItsInput) {
  Unary op{.n = 1};
  EXPECT_EQ(op.Operands()[0].address, &op.input);
}

TEST(BinaryTest, ReadsBothInputs) {
  Binary op{.n = 1};
  EXPECT_EQ(op.Operands()[0].address, &op.a);
  EXPECT_EQ(op.Operands()[1].address, &op.b);
}

}  // namespace
}  // namespace acceld::ops
