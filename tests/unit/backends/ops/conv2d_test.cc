// The checks of the three convolutions, which share a shape (conv2d_shape.cc).
#include <limits>

#include "backends/ops/conv2d_backward_data.h"
#include "backends/ops/conv2d_backward_filter.h"
#include "backends/ops/conv2d_forward.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

constexpr std::int64_t kLimit = std::int64_t{1} << 31;
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kTooLarge[] = {kLimit, 2 * kLimit, kMaxInt64};

Conv2dShape Valid() { return Conv2dShape::For({2, 3, 8, 9}, {4, 3, 3, 2}, {2, 1}, {1, 0}); }

absl::Status CheckForward(const Conv2dShape& shape) {
  return ops::Conv2dForward{.shape = shape}.Check();
}

TEST(Conv2dShapeTest, ForGivesTheOutput) {
  const std::array<std::int64_t, 4> expected{2, 4, 4, 8};  // (8 + 2 - 3) / 2 + 1, 9 - 2 + 1
  EXPECT_EQ(Valid().output, expected);
  EXPECT_THAT(CheckForward(Valid()), IsOk());
}

TEST(Conv2dShapeTest, ForOfWildSizesGivesNoValidOutput) {
  for (std::int64_t wild :
       {std::int64_t{-1}, std::int64_t{0}, kMaxInt64, std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_FALSE(CheckForward(Conv2dShape::For({1, 1, wild, 8}, {1, 1, 3, 3})).ok());
    EXPECT_FALSE(CheckForward(Conv2dShape::For({1, 1, 8, 8}, {1, 1, 3, wild})).ok());
    EXPECT_FALSE(CheckForward(Conv2dShape::For({1, 1, 8, 8}, {1, 1, 3, 3}, {wild, 1})).ok() &&
                 wild < 1);
    EXPECT_FALSE(
        CheckForward(Conv2dShape::For({1, 1, 8, 8}, {1, 1, 3, 3}, {1, 1}, {wild, 0})).ok() &&
        wild != 0);
  }
}

TEST(Conv2dShapeTest, EveryInputSizeIsAtLeast1AndBelow2To31) {
  for (std::size_t i = 0; i < 4; ++i) {
    Conv2dShape shape = Valid();
    for (std::int64_t bad :
         {std::int64_t{-1}, std::int64_t{0}, kTooLarge[0], kTooLarge[1], kTooLarge[2]}) {
      shape.input[i] = bad;
      EXPECT_THAT(CheckForward(shape), IsInvalid("Argument input[" + std::to_string(i) + "] of"));
    }
  }
}

TEST(Conv2dShapeTest, EveryFilterSizeIsAtLeast1AndBelow2To31) {
  for (std::size_t i = 0; i < 4; ++i) {
    Conv2dShape shape = Valid();
    for (std::int64_t bad :
         {std::int64_t{-1}, std::int64_t{0}, kTooLarge[0], kTooLarge[1], kTooLarge[2]}) {
      shape.filter[i] = bad;
      EXPECT_THAT(CheckForward(shape), IsInvalid("Argument filter[" + std::to_string(i) + "] of"));
    }
  }
}

TEST(Conv2dShapeTest, OutputIsWhatTheOthersGive) {
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::int64_t bad : {std::int64_t{-1}, std::int64_t{0}, Valid().output[i] - 1,
                             Valid().output[i] + 1, kMaxInt64}) {
      Conv2dShape shape = Valid();
      shape.output[i] = bad;
      EXPECT_THAT(CheckForward(shape), IsInvalid("Argument output[" + std::to_string(i) + "] of"));
    }
  }
}

TEST(Conv2dShapeTest, StrideIsAtLeast1) {
  for (std::size_t i = 0; i < 2; ++i) {
    Conv2dShape shape = Valid();
    for (std::int64_t bad : {std::int64_t{-1}, std::int64_t{0}, kLimit, kMaxInt64}) {
      shape.stride[i] = bad;
      EXPECT_THAT(CheckForward(shape), IsInvalid("Argument stride[" + std::to_string(i) + "] of"));
    }
  }
}

TEST(Conv2dShapeTest, PaddingIsNotNegativeAndBelow2To31) {
  for (std::size_t i = 0; i < 2; ++i) {
    Conv2dShape shape = Valid();
    for (std::int64_t bad : {std::int64_t{-1}, kLimit, kMaxInt64}) {
      shape.padding[i] = bad;
      EXPECT_THAT(CheckForward(shape), IsInvalid("Argument padding[" + std::to_string(i) + "] of"));
    }
  }
}

TEST(Conv2dShapeTest, FilterFitsIntoThePaddedInput) {
  EXPECT_THAT(CheckForward(Conv2dShape::For({1, 1, 4, 4}, {1, 1, 6, 4}, {1, 1}, {1, 0})), IsOk());
  EXPECT_THAT(CheckForward(Conv2dShape::For({1, 1, 4, 4}, {1, 1, 7, 4}, {1, 1}, {1, 0})),
              IsInvalid("Argument filter[2] of conv2d_forward is 7; it must be at most 6"));
  EXPECT_THAT(CheckForward(Conv2dShape::For({1, 1, 4, 4}, {1, 1, 4, 5})),
              IsInvalid("Argument filter[3] of conv2d_forward is 5; it must be at most 4"));
}

TEST(Conv2dShapeTest, ChannelsAgree) {
  EXPECT_THAT(CheckForward(Conv2dShape::For({1, 3, 4, 4}, {1, 2, 3, 3})),
              IsInvalid("Argument filter[1] of conv2d_forward is 2; it must be 3"));
}

TEST(Conv2dShapeTest, AnOutputSizeOf2To31IsRefused) {
  EXPECT_THAT(CheckForward(Conv2dShape::For({1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1}, {kLimit - 1, 0})),
              IsInvalid("Argument output[2] of conv2d_forward is 2147483648"));
}

TEST(Conv2dShapeTest, ArraysFitInto2To62Bytes) {
  const std::int64_t large = 1 << 30;
  EXPECT_THAT(CheckForward(Conv2dShape::For({1, large, 1, large}, {1, large, 1, 1})), IsOk());
  EXPECT_THAT(CheckForward(Conv2dShape::For({2, large, 1, large}, {1, large, 1, 1})),
              IsInvalid("Argument input of"));
  EXPECT_THAT(CheckForward(Conv2dShape::For({1, large, 1, 2}, {large, large, 1, 2})),
              IsInvalid("Argument filter of"));
  EXPECT_THAT(CheckForward(Conv2dShape::For({large, 1, 1, 2}, {large, 1, 1, 1})),
              IsInvalid("Argument output of"));
}

TEST(Conv2dShapeTest, FlopsAreTwicePerProduct) {
  EXPECT_EQ(Valid().Flops(), 2.0 * (2 * 4 * 4 * 8) * (3 * 3 * 2));
}

constexpr std::size_t kInputBytes = 2 * 3 * 8 * 9 * 4;
constexpr std::size_t kFilterBytes = 4 * 3 * 3 * 2 * 4;
constexpr std::size_t kOutputBytes = 2 * 4 * 4 * 8 * 4;

void ExpectOperand(const Operand& operand, const Address* address, Access access,
                   std::size_t bytes) {
  EXPECT_EQ(operand.address, address);
  EXPECT_EQ(operand.access, access);
  EXPECT_TRUE(operand.ExtentBytes() == bytes);
}

TEST(Conv2dForwardTest, ReadsInputAndFilterAndWritesOutput) {
  ops::Conv2dForward op{.shape = Valid()};
  const OperandList operands = op.Operands();
  ExpectOperand(operands[0], &op.input, Access::kRead, kInputBytes);
  ExpectOperand(operands[1], &op.filter, Access::kRead, kFilterBytes);
  ExpectOperand(operands[2], &op.output, Access::kWrite, kOutputBytes);
}

TEST(Conv2dBackwardDataTest, WritesTheInputsGradient) {
  ops::Conv2dBackwardData op{.shape = Valid()};
  EXPECT_THAT(op.Check(), IsOk());
  const OperandList operands = op.Operands();
  ExpectOperand(operands[0], &op.filter, Access::kRead, kFilterBytes);
  ExpectOperand(operands[1], &op.output_gradient, Access::kRead, kOutputBytes);
  ExpectOperand(operands[2], &op.input_gradient, Access::kWrite, kInputBytes);
  op.shape.stride[0] = 0;
  EXPECT_THAT(op.Check(), IsInvalid("Argument stride[0] of conv2d_backward_data"));
}

TEST(Conv2dBackwardFilterTest, WritesTheFiltersGradient) {
  ops::Conv2dBackwardFilter op{.shape = Valid()};
  EXPECT_THAT(op.Check(), IsOk());
  const OperandList operands = op.Operands();
  ExpectOperand(operands[0], &op.input, Access::kRead, kInputBytes);
  ExpectOperand(operands[1], &op.output_gradient, Access::kRead, kOutputBytes);
  ExpectOperand(operands[2], &op.filter_gradient, Access::kWrite, kFilterBytes);
  op.shape.stride[0] = 0;
  EXPECT_THAT(op.Check(), IsInvalid("Argument stride[0] of conv2d_backward_filter"));
}

}  // namespace
}  // namespace acceld
