#include "backends/ops/softmax.h"

#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld::ops {
namespace {

TEST(SoftmaxTest, ReadsInputAndWritesOutputOfTheSameShape) {
  Softmax op{.shape = {2, 3}, .axis = 1};
  EXPECT_THAT(op.Check(), IsOk());
  const OperandList operands = op.Operands();
  EXPECT_EQ(operands[0].address, &op.input);
  EXPECT_EQ(operands[0].access, Access::kRead);
  EXPECT_TRUE(operands[0].ExtentBytes() == 24);
  EXPECT_EQ(operands[1].address, &op.output);
  EXPECT_EQ(operands[1].access, Access::kWrite);
  EXPECT_TRUE(operands[1].ExtentBytes() == 24);
}

TEST(SoftmaxTest, ShapeAndAxisAreChecked) {
  EXPECT_THAT((Softmax{.shape = {}, .axis = 0}).Check(), IsInvalid("has rank 0"));
  EXPECT_THAT((Softmax{.shape = {1, 1, 1, 1, 1, 1, 1, 1, 1}}).Check(), IsInvalid("has rank 9"));
  EXPECT_THAT((Softmax{.shape = {-1}, .axis = 0}).Check(), IsInvalid("Argument shape of softmax"));
  EXPECT_THAT((Softmax{.shape = {2, 3}, .axis = 2}).Check(), IsInvalid("Argument axis of softmax"));
  EXPECT_THAT((Softmax{.shape = {2, 3}, .axis = -1}).Check(),
              IsInvalid("Argument axis of softmax"));
}

TEST(SoftmaxTest, AZeroInItsShapeIsValidAndEmpty) {
  for (std::int64_t axis : {0, 1}) {
    Softmax op{.shape = {2, 0}, .axis = axis};
    EXPECT_THAT(op.Check(), IsOk());
    for (const Operand& operand : op.Operands()) EXPECT_TRUE(operand.Empty());
  }
  EXPECT_THAT((Softmax{.shape = {2, 0}, .axis = 2}).Check(), IsInvalid("axis"));
}

TEST(SoftmaxTest, FlopsGrowWithTheElements) {
  EXPECT_EQ((Softmax{.shape = {2, 3}, .axis = 1}).Flops(), 30);
}

}  // namespace
}  // namespace acceld::ops
