#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

constexpr ReduceOp kReduceOps[] = {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kMean};

class ReduceTest : public ConformanceTest {
 protected:
  void CompareOn(ReduceOp reduce_op, const Shape& shape, std::int64_t axis) {
    const auto input = random_.Floats(shape.ElementCount());
    ops::Reduce op{.op = reduce_op, .shape = shape, .axis = axis};
    std::vector<float> output(static_cast<std::size_t>(op.OutputCount()), kNan);
    op.input = HostAddress(input);
    op.output = HostAddress(output);
    SCOPED_TRACE(testing::Message()
                 << Name(reduce_op) << " " << shape.ToString() << " axis " << axis);
    RunBoth(op);
  }

  // All of `values` as one.
  float Fold(ReduceOp reduce_op, const std::vector<float>& values) {
    const Address output = Upload(std::vector<float>{-77});
    EXPECT_TRUE(IsOk(backend().Reduce({.op = reduce_op,
                                       .shape = {static_cast<std::int64_t>(values.size())},
                                       .axis = 0,
                                       .input = Upload(values),
                                       .output = output})));
    return Floats(output, 1)[0];
  }
};

TEST_F(ReduceTest, MatchesTheReferenceForEveryOpRankAndAxis) {
  for (ReduceOp op : kReduceOps) {
    for (int rank = 1; rank <= kMaxRank; ++rank) {
      std::vector<std::int64_t> dims(static_cast<std::size_t>(rank));
      for (std::int64_t& dim : dims) dim = random_.Integer(1, rank <= 3 ? 20 : 4);
      for (int axis = 0; axis < rank; ++axis) {
        CompareOn(op, Shape(absl::MakeConstSpan(dims)), axis);
      }
    }
  }
}

TEST_F(ReduceTest, MatchesTheReferenceOnLongAndThinArrays) {
  for (ReduceOp op : kReduceOps) {
    CompareOn(op, {100003}, 0);
    CompareOn(op, {3, 10007}, 1);
    CompareOn(op, {2, 70001}, 1);
    CompareOn(op, {130, 2049}, 1);
    CompareOn(op, {10007, 3}, 0);
    CompareOn(op, {10007, 3}, 1);
    CompareOn(op, {1, 1, 5000}, 1);
    CompareOn(op, {193, 211}, 0);
    CompareOn(op, {193, 211}, 1);
  }
}

TEST_F(ReduceTest, MatchesTheReferenceOnRandomOddShapes) {
  for (int i = 0; i < 24; ++i) {
    const std::vector<std::int64_t> dims = random_.OddDims(kMaxRank, 20000);
    CompareOn(kReduceOps[i % 4], Shape(absl::MakeConstSpan(dims)),
              random_.Integer(0, std::ssize(dims) - 1));
  }
}

// One running f32 sum would be some percent off.
TEST_F(ReduceTest, SumsAMillionNumbersAccurately) {
  const std::vector<float> values(1 << 20, 0.1f);
  EXPECT_NEAR(Fold(ReduceOp::kSum, values) / 104857.6f, 1, 1e-4);
  EXPECT_NEAR(Fold(ReduceOp::kMean, values), 0.1f, 1e-5);
}

TEST_F(ReduceTest, ReturnsTheNumberWhereOneSideIsNanForMaxAndMin) {
  for (std::size_t position = 0; position < 3; ++position) {
    std::vector<float> values = {-3, -2, -1};
    values[position] = kNan;
    EXPECT_EQ(Fold(ReduceOp::kMax, values), position == 2 ? -2 : -1);
    EXPECT_EQ(Fold(ReduceOp::kMin, values), position == 0 ? -2 : -3);
  }
  // Where a device folds in vectors or over threads as well.
  std::vector<float> values(5000, kNan);
  values[4321] = -7;
  EXPECT_EQ(Fold(ReduceOp::kMax, values), -7);
  EXPECT_EQ(Fold(ReduceOp::kMin, values), -7);
}

TEST_F(ReduceTest, ReturnsTheNumberPerColumnForMaxAndMinAlongTheOuterAxis) {
  for (ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
    std::vector<float> input(40 * 20, kNan);
    for (std::size_t column = 0; column < 20; ++column) {
      input[(column * 7 % 40) * 20 + column] = static_cast<float>(column);
    }
    const Address output = Alloc(80);
    ASSERT_TRUE(IsOk(backend().Reduce(
        {.op = op, .shape = {40, 20}, .axis = 0, .input = Upload(input), .output = output})));
    const std::vector<float> found = Floats(output, 20);
    for (std::size_t column = 0; column < 20; ++column) EXPECT_EQ(found[column], column);
  }
}

TEST_F(ReduceTest, ReturnsNanWhereAllAreNan) {
  for (ReduceOp op : kReduceOps) {
    EXPECT_TRUE(std::isnan(Fold(op, {kNan})));
    EXPECT_TRUE(std::isnan(Fold(op, std::vector<float>(1000, kNan))));
  }
}

TEST_F(ReduceTest, SpreadsANanInSumAndMeanToItsOwnOutputOnly) {
  for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
    std::vector<float> input(30, 1);
    input[17] = kNan;
    std::vector<float> output(5);
    RunBoth(ops::Reduce{.op = op,
                        .shape = {5, 6},
                        .axis = 1,
                        .input = HostAddress(input),
                        .output = HostAddress(output)});
    EXPECT_TRUE(std::isnan(output[2]));
  }
}

TEST_F(ReduceTest, HandlesInfinitiesAsIeee754) {
  EXPECT_EQ(Fold(ReduceOp::kSum, {1, kInfinity}), kInfinity);
  EXPECT_TRUE(std::isnan(Fold(ReduceOp::kSum, {kInfinity, -kInfinity})));
  EXPECT_EQ(Fold(ReduceOp::kMax, {-kInfinity, -kInfinity}), -kInfinity);
  EXPECT_EQ(Fold(ReduceOp::kMin, {kInfinity, kInfinity}), kInfinity);
  EXPECT_EQ(Fold(ReduceOp::kMax, {-kInfinity, kNan}), -kInfinity);
  EXPECT_EQ(Fold(ReduceOp::kMax, {kInfinity, 1}), kInfinity);
  EXPECT_EQ(Fold(ReduceOp::kMean, {kInfinity, 1}), kInfinity);
}

// Whichever loops, lanes, threads and segments a length is folded by.
TEST_F(ReduceTest, GivesNegativeZeroForSumsOfNothingElse) {
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
    for (const std::int64_t length :
         {1, 2, 3, 8, 9, 15, 16, 17, 33, 100, 511, 1000, 5000, 100003}) {
      for (const std::int64_t inner : {1, 3, 70}) {
        const std::int64_t outer = length < 20 ? 37 : 2;
        if (length * inner > 400'000) continue;
        std::vector<float> input(static_cast<std::size_t>(outer * length * inner), -0.0f);
        const auto outputs = static_cast<std::size_t>(outer * inner);
        // One +0 makes the last sum +0.
        input.back() = 0;
        const Address output = Alloc(outputs * sizeof(float));
        ASSERT_TRUE(IsOk(backend().Reduce({.op = op,
                                           .shape = {outer, length, inner},
                                           .axis = 1,
                                           .input = Upload(input),
                                           .output = output})));
        const std::vector<float> sums = Floats(output, outputs);
        SCOPED_TRACE(testing::Message() << outer << " x " << length << " x " << inner);
        for (std::size_t i = 0; i < outputs; ++i) {
          EXPECT_EQ(sums[i], 0);
          ASSERT_EQ(std::signbit(sums[i]), i + 1 < outputs) << i;
        }
      }
    }
  }
}

TEST_F(ReduceTest, CopiesAlongAnAxisOfOne) {
  const auto input = random_.Floats(21);
  for (ReduceOp op : kReduceOps) {
    const Address output = Alloc(84);
    ASSERT_TRUE(IsOk(backend().Reduce(
        {.op = op, .shape = {3, 1, 7}, .axis = 1, .input = Upload(input), .output = output})));
    EXPECT_EQ(Floats(output, 21), input);
  }
}

TEST_F(ReduceTest, IsANoOpWithAnEmptyOutputAndLooksAtNoAddress) {
  EXPECT_TRUE(IsOk(backend().Reduce({.shape = {0, 5}, .axis = 1, .input = kGarbage})));
  EXPECT_TRUE(IsOk(backend().Reduce({.shape = {5, 0}, .axis = 0, .output = kGarbage})));
  EXPECT_TRUE(IsOk(backend().Reduce({.shape = {0, 0}, .axis = 0})));
  EXPECT_TRUE(IsOk(backend().Reduce({.shape = {2, 0, 3}, .axis = 2})));
}

TEST_F(ReduceTest, RefusesAnAxisOfZeroWhereTheOutputIsNotEmpty) {
  const Address room = Alloc(64);
  const Address output = Upload(std::vector<float>(16, 5));
  for (ReduceOp op : kReduceOps) {
    EXPECT_TRUE(IsInvalidArgument(
        backend().Reduce({.op = op, .shape = {0}, .axis = 0, .input = room, .output = output}),
        {"reduce", "axis"}));
    EXPECT_TRUE(IsInvalidArgument(
        backend().Reduce({.op = op, .shape = {3, 0}, .axis = 1, .input = room, .output = output}),
        {"reduce", "axis"}));
  }
  EXPECT_EQ(Floats(output, 16), std::vector<float>(16, 5));
}

TEST_F(ReduceTest, RefusesABadAxisEvenWhereNothingIsDone) {
  for (const Shape& shape : {Shape{4, 5}, Shape{0, 5}}) {
    for (const std::int64_t axis : {std::int64_t{-1}, std::int64_t{2}, std::int64_t{1} << 32,
                                    std::numeric_limits<std::int64_t>::min()}) {
      EXPECT_TRUE(IsInvalidArgument(backend().Reduce({.shape = shape, .axis = axis}),
                                    {"reduce", "axis", std::to_string(axis)}));
    }
  }
}

TEST_F(ReduceTest, RefusesBadShapesEvenWhereNothingIsDone) {
  const std::int64_t limit = std::int64_t{1} << 31;
  for (const Shape& shape :
       {Shape{}, Shape{0, -1}, Shape{0, limit}, Shape{0, 1, 1, 1, 1, 1, 1, 1, 1},
        Shape{limit - 1, limit - 1, limit - 1}, Shape{limit - 1, limit - 1}}) {
    EXPECT_TRUE(
        IsInvalidArgument(backend().Reduce({.shape = shape, .axis = 0}), {"reduce", "shape"}))
        << shape.ToString();
  }
}

TEST_F(ReduceTest, RefusesAnUnknownOpEvenWhereNothingIsDone) {
  for (const int number : {0, 5, 255}) {
    EXPECT_TRUE(IsInvalidArgument(
        backend().Reduce({.op = static_cast<ReduceOp>(number), .shape = {0, 1}, .axis = 1}),
        {"reduce", "op"}));
  }
}

}  // namespace
}  // namespace acceld::conformance
