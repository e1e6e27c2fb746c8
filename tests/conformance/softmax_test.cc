#include <cmath>
#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

class SoftmaxTest : public ConformanceTest {
 protected:
  void CompareOn(const Shape& shape, std::int64_t axis, double magnitude = 5) {
    const auto input = random_.Floats(shape.ElementCount(), -magnitude, magnitude);
    std::vector<float> output(input.size(), kNan);
    SCOPED_TRACE(testing::Message() << shape.ToString() << " axis " << axis);
    RunBoth(ops::Softmax{
        .shape = shape, .axis = axis, .input = HostAddress(input), .output = HostAddress(output)});
  }

  std::vector<float> Softmax(const std::vector<float>& values) {
    const Address output = Alloc(values.size() * 4);
    EXPECT_TRUE(IsOk(backend().Softmax({.shape = {static_cast<std::int64_t>(values.size())},
                                        .axis = 0,
                                        .input = Upload(values),
                                        .output = output})));
    return Floats(output, values.size());
  }
};

TEST_F(SoftmaxTest, MatchesTheReferenceForEveryRankAndAxis) {
  for (int rank = 1; rank <= kMaxRank; ++rank) {
    std::vector<std::int64_t> dims(static_cast<std::size_t>(rank));
    for (std::int64_t& dim : dims) dim = random_.Integer(1, rank <= 3 ? 20 : 4);
    for (int axis = 0; axis < rank; ++axis) CompareOn(Shape(absl::MakeConstSpan(dims)), axis);
  }
}

TEST_F(SoftmaxTest, MatchesTheReferenceOnLongAndThinArrays) {
  CompareOn({50021}, 0);
  CompareOn({3, 10007}, 1);
  CompareOn({10007, 3}, 0);
  CompareOn({10007, 3}, 1);
  CompareOn({193, 211}, 1);
  CompareOn({64, 1000}, 1, 80);
}

TEST_F(SoftmaxTest, MatchesTheReferenceOnRandomOddShapes) {
  for (int i = 0; i < 24; ++i) {
    const std::vector<std::int64_t> dims = random_.OddDims(kMaxRank, 20000);
    CompareOn(Shape(absl::MakeConstSpan(dims)), random_.Integer(0, std::ssize(dims) - 1));
  }
}

TEST_F(SoftmaxTest, RunsInPlace) {
  for (const std::int64_t axis : {0, 1, 2}) {
    auto values = random_.Floats(7 * 8 * 9, -10, 10);
    RunBoth(ops::Softmax{.shape = {7, 8, 9},
                         .axis = axis,
                         .input = HostAddress(values),
                         .output = HostAddress(values)});
  }
}

TEST_F(SoftmaxTest, SumsToOne) {
  double sum = 0;
  for (const float value : Softmax(random_.Floats(1000, -20, 20))) sum += value;
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST_F(SoftmaxTest, NeverOverflows) {
  EXPECT_EQ(Softmax({1e30f, -1e30f}), (std::vector<float>{1, 0}));
  EXPECT_EQ(Softmax({3e38f, 3e38f}), (std::vector<float>{0.5f, 0.5f}));
  // The difference itself overflows, to minus infinity.
  EXPECT_EQ(Softmax({3e38f, -3e38f}), (std::vector<float>{1, 0}));
  EXPECT_EQ(Softmax({-3e38f, -3e38f}), (std::vector<float>{0.5f, 0.5f}));
  EXPECT_EQ(Softmax(std::vector<float>(4, 1000)), std::vector<float>(4, 0.25f));
}

TEST_F(SoftmaxTest, GivesExactlyOneAlongAnAxisOfOne) {
  for (const float value : {0.0f, -5.5f, 1e38f}) EXPECT_EQ(Softmax({value})[0], 1);
}

TEST_F(SoftmaxTest, GivesMinusInfinityTheWeightZero) {
  EXPECT_EQ(Softmax({-kInfinity, 2, 2}), (std::vector<float>{0, 0.5f, 0.5f}));
}

TEST_F(SoftmaxTest, GivesNanForInfinityAndForNothingButMinusInfinity) {
  EXPECT_TRUE(std::isnan(Softmax({1, kInfinity})[1]));
  for (const float value : Softmax({-kInfinity, -kInfinity})) EXPECT_TRUE(std::isnan(value));
}

TEST_F(SoftmaxTest, SpreadsANanOverItsOwnRowOnly) {
  for (const std::int64_t axis : {0, 1}) {
    auto input = random_.Floats(37 * 41);
    input[12 * 41 + 30] = kNan;
    const Address output = Alloc(37 * 41 * 4);
    ASSERT_TRUE(IsOk(backend().Softmax(
        {.shape = {37, 41}, .axis = axis, .input = Upload(input), .output = output})));
    const std::vector<float> found = Floats(output, 37 * 41);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(std::isnan(found[i]), axis == 1 ? i / 41 == 12 : i % 41 == 30) << i;
    }
  }
}

TEST_F(SoftmaxTest, IsANoOpOnAnEmptyArrayAndLooksAtNoAddress) {
  EXPECT_TRUE(IsOk(backend().Softmax({.shape = {0}, .axis = 0, .input = kGarbage})));
  EXPECT_TRUE(IsOk(backend().Softmax({.shape = {3, 0}, .axis = 0, .output = kGarbage})));
  EXPECT_TRUE(IsOk(backend().Softmax({.shape = {3, 0}, .axis = 1})));
}

TEST_F(SoftmaxTest, RefusesABadAxisEvenWhereNothingIsDone) {
  for (const Shape& shape : {Shape{4, 5}, Shape{0, 5}}) {
    for (const std::int64_t axis : {-1, 2, 8}) {
      EXPECT_TRUE(IsInvalidArgument(backend().Softmax({.shape = shape, .axis = axis}),
                                    {"softmax", "axis", std::to_string(axis)}));
    }
  }
}

TEST_F(SoftmaxTest, RefusesBadShapesEvenWhereNothingIsDone) {
  const std::int64_t limit = std::int64_t{1} << 31;
  for (const Shape& shape : {Shape{}, Shape{0, -1}, Shape{limit, 0},
                             Shape{0, 1, 1, 1, 1, 1, 1, 1, 1}, Shape{limit - 1, limit - 1}}) {
    EXPECT_TRUE(
        IsInvalidArgument(backend().Softmax({.shape = shape, .axis = 0}), {"softmax", "shape"}))
        << shape.ToString();
  }
}

}  // namespace
}  // namespace acceld::conformance
