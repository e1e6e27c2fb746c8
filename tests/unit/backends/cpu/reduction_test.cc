// Reduce and softmax.
#include <cmath>

#include "backends/reference/reference.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld {
namespace {

constexpr std::initializer_list<ReduceOp> kReduceOps = {ReduceOp::kSum, ReduceOp::kMax,
                                                        ReduceOp::kMin, ReduceOp::kMean};

Shape RandomShape(Random& random) {
  // Up to some ten thousand elements, so that some lengths are cut and some columns are chunked.
  std::vector<std::int64_t> dims(static_cast<std::size_t>(random.Integer(1, 4)), 1);
  for (std::int64_t& dim : dims) dim = random.Integer(1, 8);
  dims[static_cast<std::size_t>(random.Integer(0, std::ssize(dims) - 1))] =
      random.Pick<std::int64_t>({1, 33, 600, 1500});
  return Shape(dims);
}

std::vector<float> Reduced(TestDevice& device, ReduceOp op, const Shape& shape, std::int64_t axis,
                           const std::vector<float>& input) {
  ops::Reduce reduce{.op = op, .shape = shape, .axis = axis, .input = AddressOf(input)};
  std::vector<float> output(static_cast<std::size_t>(reduce.OutputCount()), NAN);
  reduce.output = AddressOf(output);
  EXPECT_THAT(device.Run(Op(reduce)), IsOk());
  return output;
}

void ExpectReducedLikeReference(TestDevice& device, Random& random, ReduceOp op, const Shape& shape,
                                std::int64_t axis) {
  SCOPED_TRACE(shape.ToString() + ", axis " + std::to_string(axis));
  const auto input = random.Vector(shape.ElementCount());
  const auto actual = Reduced(device, op, shape, axis, input);
  std::vector<float> expected(actual.size());
  reference::Run(ops::Reduce{.op = op,
                             .shape = shape,
                             .axis = axis,
                             .input = AddressOf(input),
                             .output = AddressOf(expected)});
  // Both sum in double, in different orders.
  ExpectClose(actual, expected, 1.3e-7, 1e-11);
}

TEST(CpuReduce, AgreesWithTheReference) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (int i = 0; i < 60; ++i) {
    const Shape shape = RandomShape(random);
    ExpectReducedLikeReference(device, random, random.Pick(kReduceOps), shape,
                               random.Integer(0, static_cast<std::int64_t>(shape.rank()) - 1));
  }
}

TEST(CpuReduce, AgreesWithTheReferenceWhereTheLengthIsCut) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const ReduceOp op : kReduceOps) {
    ExpectReducedLikeReference(device, random, op, {300'001}, 0);
    ExpectReducedLikeReference(device, random, op, {3, 50'001, 5}, 1);
    ExpectReducedLikeReference(device, random, op, {70'001, 3}, 0);
    ExpectReducedLikeReference(device, random, op, {301, 1111}, 0);
    ExpectReducedLikeReference(device, random, op, {301, 1111}, 1);
  }
}

TEST(CpuReduce, LosesNoDigitsOfLongSums) {
  TestDevice device;
  // In f32, 2^24 + 1 is 2^24.
  std::vector<float> input(100'000, 1);
  input[0] = 0x1p24f;
  EXPECT_THAT(Reduced(device, ReduceOp::kSum, {100'000}, 0, input),
              testing::ElementsAre(0x1p24f + 100'000.0f));
  EXPECT_THAT(Reduced(device, ReduceOp::kSum, {50'000, 2}, 0, input),
              testing::ElementsAre(0x1p24f + 50'000.0f, 50'000));
}

TEST(CpuReduce, LosesNoDigitsOfAVeryLongSum) {
  TestDevice device;
  const std::int64_t count = std::int64_t{1} << 24;
  const std::vector<float> input(static_cast<std::size_t>(count), 0.1f);
  const double expected = static_cast<double>(count) * static_cast<double>(0.1f);
  for (const auto& [shape, axis] :
       std::initializer_list<std::pair<Shape, std::int64_t>>{{{count}, 0},
                                                             {{count / 2, 2}, 0},
                                                             {{1024, count / 1024}, 1},
                                                             {{count / 1024, 1024}, 0}}) {
    const std::vector<float> sums = Reduced(device, ReduceOp::kSum, shape, axis, input);
    const double share = expected / static_cast<double>(sums.size());
    for (const float sum : sums) ASSERT_NEAR(static_cast<double>(sum), share, 1e-6 * share);
  }
}

TEST(CpuReduce, AgreesWithTheReferenceForEachShortLength) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const ReduceOp op : kReduceOps) {
    for (std::int64_t length = 1; length <= 20; ++length) {
      for (const std::int64_t inner : {1, 3, 70, 5001}) {
        ExpectReducedLikeReference(device, random, op, {inner == 5001 ? 2 : 130, length, inner}, 1);
      }
    }
  }
}

// Parts so small that several are copied together: each way that a row of four elements can end,
// and the last parts of an array.
constexpr std::int64_t kSmallLengths[] = {2, 3, 4, 5, 7, 9, 16, 31, 33};
constexpr std::int64_t kSmallInners[] = {1, 2, 3, 4, 5, 7, 12};
constexpr std::int64_t kFewParts[] = {1, 2, 3, 4, 5, 8, 67, 1026};

TEST(CpuReduce, AgreesWithTheReferenceForSmallParts) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const std::int64_t length : kSmallLengths) {
    for (const std::int64_t inner : kSmallInners) {
      for (const std::int64_t outer : kFewParts) {
        ExpectReducedLikeReference(device, random, random.Pick(kReduceOps), {outer, length, inner},
                                   1);
      }
    }
  }
}

TEST(CpuReduce, MaxAndMinReturnTheNumberWhereOneSideIsNaN) {
  TestDevice device;
  std::vector<float> input = {NAN, 2, NAN, NAN, -3, NAN};
  EXPECT_THAT(Reduced(device, ReduceOp::kMax, {6}, 0, input), testing::ElementsAre(2));
  EXPECT_THAT(Reduced(device, ReduceOp::kMin, {6}, 0, input), testing::ElementsAre(-3));
  EXPECT_THAT(Reduced(device, ReduceOp::kMax, {3, 2}, 0, input), testing::ElementsAre(-3, 2));
  EXPECT_THAT(Reduced(device, ReduceOp::kMin, {2, 3}, 1, input), testing::ElementsAre(2, -3));
  input.assign(100, NAN);
  for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
    EXPECT_THAT(Reduced(device, op, {100}, 0, input), testing::ElementsAre(testing::IsNan()));
    EXPECT_THAT(Reduced(device, op, {50, 2}, 0, input), testing::Each(testing::IsNan()));
    input[70] = -INFINITY;
    EXPECT_THAT(Reduced(device, op, {100}, 0, input), testing::ElementsAre(-INFINITY));
    input[70] = NAN;
  }
}

TEST(CpuReduce, MaxAndMinReturnTheNumberDownColumnsWhereOneSideIsNaN) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  // Wide and narrow columns, each with what is left of a block of columns and of several rows.
  for (const Shape& shape : {Shape{603, 77}, Shape{603, 5}, Shape{3, 211, 67}}) {
    std::vector<float> input = random.Vector(shape.ElementCount());
    for (std::size_t i = 0; i < input.size(); i += 3) input[i] = NAN;
    const std::size_t axis = shape.rank() - 2;
    const auto width = static_cast<std::size_t>(shape[axis + 1]);
    for (std::size_t i = width / 2; i < input.size(); i += width) input[i] = NAN;
    for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
      SCOPED_TRACE(shape.ToString());
      const auto actual = Reduced(device, op, shape, static_cast<std::int64_t>(axis), input);
      std::vector<float> expected(actual.size());
      reference::Run(ops::Reduce{.op = op,
                                 .shape = shape,
                                 .axis = static_cast<std::int64_t>(axis),
                                 .input = AddressOf(input),
                                 .output = AddressOf(expected)});
      EXPECT_THAT(actual, testing::Pointwise(testing::NanSensitiveFloatEq(), expected));
      EXPECT_THAT(actual[width / 2], testing::IsNan());
    }
  }
}

TEST(CpuReduce, SumsSpreadNaNAndInfinity) {
  TestDevice device;
  EXPECT_THAT(Reduced(device, ReduceOp::kSum, {2}, 0, {1, NAN}),
              testing::ElementsAre(testing::IsNan()));
  EXPECT_THAT(Reduced(device, ReduceOp::kMean, {2}, 0, {INFINITY, 1}),
              testing::ElementsAre(INFINITY));
  EXPECT_THAT(Reduced(device, ReduceOp::kSum, {2}, 0, {INFINITY, -INFINITY}),
              testing::ElementsAre(testing::IsNan()));
}

TEST(CpuReduce, OfAnEmptyOutputDoesNothing) {
  TestDevice device;
  EXPECT_THAT(device.Run(Op(ops::Reduce{.shape = {0, 3}, .axis = 1})), IsOk());
  EXPECT_THAT(device.Run(Op(ops::Reduce{.shape = {0, 0}, .axis = 1})), IsOk());
}

std::vector<float> SoftmaxOf(TestDevice& device, const Shape& shape, std::int64_t axis,
                             const std::vector<float>& input) {
  std::vector<float> output(input.size(), NAN);
  EXPECT_THAT(
      device.Run(Op(ops::Softmax{
          .shape = shape, .axis = axis, .input = AddressOf(input), .output = AddressOf(output)})),
      IsOk());
  return output;
}

TEST(CpuSoftmax, AgreesWithTheReference) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (int i = 0; i < 60; ++i) {
    const Shape shape = RandomShape(random);
    const std::int64_t axis = random.Integer(0, static_cast<std::int64_t>(shape.rank()) - 1);
    SCOPED_TRACE(shape.ToString() + ", axis " + std::to_string(axis));
    auto input = random.Vector(shape.ElementCount());
    for (float& value : input) value *= 30;
    std::vector<float> expected(input.size());
    reference::Run(ops::Softmax{
        .shape = shape, .axis = axis, .input = AddressOf(input), .output = AddressOf(expected)});
    // Of differences up to 60, each rounded to f32.
    ExpectClose(SoftmaxOf(device, shape, axis, input), expected, 2.5e-6, 1e-37);
  }
}

TEST(CpuSoftmax, AgreesWithTheReferenceForSmallParts) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const std::int64_t length : kSmallLengths) {
    for (const std::int64_t inner : kSmallInners) {
      for (const std::int64_t outer : kFewParts) {
        const Shape shape = {outer, length, inner};
        SCOPED_TRACE(shape.ToString());
        const auto input = random.Vector(shape.ElementCount());
        std::vector<float> expected(input.size());
        reference::Run(ops::Softmax{
            .shape = shape, .axis = 1, .input = AddressOf(input), .output = AddressOf(expected)});
        ExpectClose(SoftmaxOf(device, shape, 1, input), expected, 2e-6, 0);
      }
    }
  }
}

// Of each way the kernel has: singles, rows, tiles of adjacent and of copied columns, long lengths;
// the last ones past the caches.
const std::initializer_list<std::pair<Shape, std::int64_t>> kSoftmaxShapes = {
    {{3001, 1}, 1},       {{90, 100}, 1},      {{90, 320}, 1},      {{90, 301}, 1},
    {{7, 16'384}, 1},     {{50, 31}, 1},       {{301, 7}, 1},       {{19, 5, 21}, 1},
    {{11, 256, 3}, 1},    {{11, 512, 63}, 1},  {{7, 9, 1000}, 1},   {{100'003}, 0},
    {{2, 16'385}, 1},     {{70'001, 3}, 0},    {{257, 63}, 0},      {{257, 700}, 0},
    {{3, 999, 131}, 1},   {{3'200'003, 1}, 1}, {{1'100'003, 3}, 1}, {{45'007, 5, 15}, 1},
    {{127, 257, 101}, 1}, {{10'007, 317}, 1},  {{1027, 4099}, 1},   {{101, 42'001}, 0},
    {{600, 7001}, 0}};

TEST(CpuSoftmax, AgreesWithTheReferenceInEachWay) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const auto& [shape, axis] : kSoftmaxShapes) {
    SCOPED_TRACE(shape.ToString() + ", axis " + std::to_string(axis));
    auto input = random.Vector(shape.ElementCount());
    for (float& value : input) value *= 5;
    std::vector<float> expected(input.size());
    reference::Run(ops::Softmax{
        .shape = shape, .axis = axis, .input = AddressOf(input), .output = AddressOf(expected)});
    ExpectClose(SoftmaxOf(device, shape, axis, input), expected, 2e-6, 1e-37);
  }
}

TEST(CpuSoftmax, MayBeInPlace) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const auto& [shape, axis] : kSoftmaxShapes) {
    SCOPED_TRACE(shape.ToString() + ", axis " + std::to_string(axis));
    auto data = random.Vector(shape.ElementCount());
    const auto expected = SoftmaxOf(device, shape, axis, data);
    ASSERT_THAT(
        device.Run(Op(ops::Softmax{
            .shape = shape, .axis = axis, .input = AddressOf(data), .output = AddressOf(data)})),
        IsOk());
    EXPECT_TRUE(SameBits(data, expected));
  }
}

TEST(CpuSoftmax, OfASingleElementIsOneUnlessThatIsNoNumber) {
  TestDevice device;
  EXPECT_THAT(SoftmaxOf(device, {5, 1}, 1, {3e38f, -0.0f, INFINITY, -INFINITY, NAN}),
              testing::ElementsAre(1, 1, testing::IsNan(), testing::IsNan(), testing::IsNan()));
}

// A column's first elements being minus infinity must not spoil the sum of those that follow.
TEST(CpuSoftmax, TakesMinusInfinityAtTheBeginningOfAColumn) {
  TestDevice device;
  for (const std::int64_t length : {20, 300, 20'000}) {
    for (const std::int64_t inner : {1, 3, 70}) {
      std::vector<float> input(static_cast<std::size_t>(length * inner), -INFINITY);
      std::fill(input.end() - inner, input.end(), 5.0f);
      std::vector<float> expected(input.size());
      std::fill(expected.end() - inner, expected.end(), 1.0f);
      EXPECT_TRUE(SameBits(SoftmaxOf(device, {length, inner}, 0, input), expected))
          << length << " x " << inner;
    }
  }
}

TEST(CpuSoftmax, DoesNotOverflow) {
  TestDevice device;
  EXPECT_THAT(SoftmaxOf(device, {2}, 0, {3e38f, -3e38f}), testing::ElementsAre(1, 0));
  EXPECT_THAT(SoftmaxOf(device, {2, 1, 2}, 0, {3e38f, 1000, 3e38f, 1000}), testing::Each(0.5f));
}

TEST(CpuSoftmax, TakesInfinityAndNaNAsTheReference) {
  TestDevice device;
  for (const Shape& shape : {Shape{3}, Shape{3, 1, 1}, Shape{1, 3}}) {
    const std::int64_t axis = shape[0] == 3 ? 0 : 1;
    EXPECT_THAT(SoftmaxOf(device, shape, axis, {-INFINITY, 1, 1}), testing::ElementsAre(0, .5, .5));
    EXPECT_THAT(SoftmaxOf(device, shape, axis, {INFINITY, 1, 1}),
                testing::Contains(testing::IsNan()));
    EXPECT_THAT(SoftmaxOf(device, shape, axis, {NAN, 1, 1}), testing::Each(testing::IsNan()));
    EXPECT_THAT(SoftmaxOf(device, shape, axis, {-INFINITY, -INFINITY, -INFINITY}),
                testing::Each(testing::IsNan()));
  }
}

}  // namespace
}  // namespace acceld
