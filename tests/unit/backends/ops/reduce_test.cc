#include "backends/ops/reduce.h"

#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld::ops {
namespace {

constexpr std::int64_t kMaxDimension = kDimensionLimit - 1;

absl::Status CheckOf(Shape shape, std::int64_t axis) {
  return Reduce{.shape = shape, .axis = axis}.Check();
}

TEST(ReduceTest, OutputIsTheShapeWithoutTheAxis) {
  for (const auto& [axis, count] : {std::pair{0, 15}, {1, 10}, {2, 6}}) {
    Reduce op{.shape = {2, 3, 5}, .axis = axis};
    EXPECT_THAT(op.Check(), IsOk());
    EXPECT_EQ(op.OutputCount(), count);
    const OperandList operands = op.Operands();
    EXPECT_EQ(operands[0].address, &op.input);
    EXPECT_EQ(operands[0].access, Access::kRead);
    EXPECT_TRUE(operands[0].ExtentBytes() == 120);
    EXPECT_EQ(operands[1].address, &op.output);
    EXPECT_EQ(operands[1].access, Access::kWrite);
    EXPECT_TRUE(operands[1].ExtentBytes() == static_cast<unsigned>(4 * count));
  }
}

TEST(ReduceTest, AVectorFoldsIntoOneElement) {
  EXPECT_EQ((Reduce{.shape = {7}, .axis = 0}).OutputCount(), 1);
}

TEST(ReduceTest, UnknownOpsAreRefused) {
  for (int number : {0, 5, 255}) {
    EXPECT_THAT((Reduce{.op = static_cast<ReduceOp>(number), .shape = {2}, .axis = 0}).Check(),
                IsInvalid("Argument op of reduce is the unknown value"));
  }
}

TEST(ReduceTest, ShapeAndAxisAreChecked) {
  EXPECT_THAT(CheckOf({}, 0), IsInvalid("has rank 0"));
  EXPECT_THAT(CheckOf({2, -1}, 0), IsInvalid("Argument shape of reduce"));
  EXPECT_THAT(CheckOf({2, kDimensionLimit}, 0), IsInvalid("Argument shape of reduce"));
  EXPECT_THAT(CheckOf({kMaxDimension, kMaxDimension, kMaxDimension}, 0),
              IsInvalid("at most 4611686018427387904 bytes"));
  EXPECT_THAT(CheckOf({2, 3}, 2), IsInvalid("Argument axis of reduce is 2"));
  EXPECT_THAT(CheckOf({2, 3}, -1), IsInvalid("Argument axis of reduce is -1"));
}

TEST(ReduceTest, AnEmptyAxisWithANonEmptyOutputIsInvalid) {
  EXPECT_THAT(CheckOf({0}, 0), IsInvalid("axis 0 must not be empty"));
  EXPECT_THAT(CheckOf({2, 0, 3}, 1), IsInvalid("is [2, 0, 3]; axis 1 must not be empty"));
  EXPECT_THAT(CheckOf({kMaxDimension, kMaxDimension, kMaxDimension, 0}, 3),
              IsInvalid("axis 3 must not be empty"));
}

TEST(ReduceTest, AnEmptyOutputIsValid) {
  EXPECT_THAT(CheckOf({0, 3}, 1), IsOk());
  EXPECT_THAT(CheckOf({0, 0}, 1), IsOk());
  EXPECT_THAT(CheckOf({3, 0, 0}, 0), IsOk());
  EXPECT_EQ((Reduce{.shape = {0, 0}, .axis = 1}).OutputCount(), 0);
  const Shape wide{kMaxDimension, kMaxDimension, kMaxDimension, 0, 0};
  EXPECT_THAT(CheckOf(wide, 3), IsOk());
  EXPECT_EQ((Reduce{.shape = wide, .axis = 3}).OutputCount(), 0);
}

TEST(ReduceTest, OneFlopPerElement) {
  EXPECT_EQ((Reduce{.shape = {2, 3, 5}, .axis = 1}).Flops(), 30);
}

}  // namespace
}  // namespace acceld::ops
