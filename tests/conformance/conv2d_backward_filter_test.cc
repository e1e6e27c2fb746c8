#include <cmath>
#include <vector>

#include "tests/conformance/conv2d_cases.h"
#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

class Conv2dBackwardFilterTest : public ConformanceTest {
 protected:
  void CompareOn(const Conv2dShape& shape) {
    const auto input = random_.Floats(ElementCount(shape.input));
    const auto output_gradient = random_.Floats(ElementCount(shape.output));
    std::vector<float> filter_gradient(static_cast<std::size_t>(ElementCount(shape.filter)), kNan);
    RunBoth(ops::Conv2dBackwardFilter{.shape = shape,
                                      .input = HostAddress(input),
                                      .output_gradient = HostAddress(output_gradient),
                                      .filter_gradient = HostAddress(filter_gradient)});
  }

  std::vector<float> FilterGradient(const Conv2dShape& shape, const std::vector<float>& input,
                                    const std::vector<float>& output_gradient) {
    const auto count = static_cast<std::size_t>(ElementCount(shape.filter));
    const Address filter_gradient = Upload(std::vector<float>(count, kNan));
    EXPECT_TRUE(IsOk(backend().Conv2dBackwardFilter({.shape = shape,
                                                     .input = Upload(input),
                                                     .output_gradient = Upload(output_gradient),
                                                     .filter_gradient = filter_gradient})));
    return Floats(filter_gradient, count);
  }
};

TEST_F(Conv2dBackwardFilterTest, MatchesTheReferenceOnCornerShapes) {
  const std::vector<Conv2dShape> shapes = Conv2dShapes();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    SCOPED_TRACE(i);
    CompareOn(shapes[i]);
  }
}

TEST_F(Conv2dBackwardFilterTest, MatchesTheReferenceOnRandomShapes) {
  for (int i = 0; i < 20; ++i) CompareOn(RandomConv2dShape(random_));
}

TEST_F(Conv2dBackwardFilterTest, MatchesTheReferenceOnRandomOddShapes) {
  for (int i = 0; i < 20; ++i) {
    const Conv2dShape shape = RandomOddConv2dShape(random_);
    SCOPED_TRACE(
        testing::PrintToString(std::tuple(shape.input, shape.filter, shape.stride, shape.padding)));
    CompareOn(shape);
  }
}

TEST_F(Conv2dBackwardFilterTest, SumsTheInputsThatEachFilterElementReads) {
  const auto shape = Conv2dShape::For({2, 1, 1, 3}, {1, 1, 1, 2});
  EXPECT_EQ(FilterGradient(shape, {1, 2, 3, 4, 5, 6}, {1, 10, 100, 1000}),
            (std::vector<float>{1 + 20 + 400 + 5000, 2 + 30 + 500 + 6000}));
}

TEST_F(Conv2dBackwardFilterTest, GivesZeroForFilterElementsThatReadOnlyPadding) {
  const auto shape = Conv2dShape::For({1, 1, 1, 1}, {1, 1, 1, 5}, {1, 1}, {0, 2});
  EXPECT_EQ(FilterGradient(shape, {3}, {7}), (std::vector<float>{0, 0, 21, 0, 0}));
}

TEST_F(Conv2dBackwardFilterTest, SpreadsANanOfAnOutputGradientOnlyToItsOwnFilter) {
  const auto shape = Conv2dShape::For({2, 4, 9, 9}, {8, 4, 3, 3}, {1, 1}, {1, 1});
  const auto input = random_.Floats(ElementCount(shape.input));
  auto output_gradient = random_.Floats(ElementCount(shape.output));
  output_gradient[5 * 81 + 4 * 9 + 4] = kNan;
  const std::vector<float> filter_gradient = FilterGradient(shape, input, output_gradient);
  for (std::size_t i = 0; i < filter_gradient.size(); ++i) {
    EXPECT_EQ(std::isnan(filter_gradient[i]), i / (4 * 3 * 3) == 5) << i;
  }
}

TEST_F(Conv2dBackwardFilterTest, SpreadsANanOfAnInputOnlyToTheFilterElementsThatReadIt) {
  for (const std::int64_t filters : {1, 16}) {
    const auto shape = Conv2dShape::For({1, 16, 20, 40}, {filters, 16, 3, 3});
    auto input = random_.Floats(ElementCount(shape.input));
    // The last one of the last row of the first channel.
    input[20 * 40 - 1] = kNan;
    const std::vector<float> filter_gradient =
        FilterGradient(shape, input, random_.Floats(ElementCount(shape.output)));
    for (std::size_t i = 0; i < filter_gradient.size(); ++i) {
      EXPECT_EQ(std::isnan(filter_gradient[i]), i % (16 * 3 * 3) == 8) << filters << " " << i;
    }
  }
}

TEST_F(Conv2dBackwardFilterTest, RefusesBadShapes) {
  const Address room = Alloc(1 << 16);
  const Address output = Alloc(1 << 16);
  for (const BadConv2dShape& bad : BadConv2dShapes()) {
    EXPECT_TRUE(IsInvalidArgument(backend().Conv2dBackwardFilter({.shape = bad.shape,
                                                                  .input = room,
                                                                  .output_gradient = room,
                                                                  .filter_gradient = output}),
                                  {"conv2d_backward_filter", bad.argument}));
  }
}

TEST_F(Conv2dBackwardFilterTest, RefusesHugeShapesWithoutOverflow) {
  const Address room = Alloc(4096);
  EXPECT_TRUE(IsInvalidArgument(backend().Conv2dBackwardFilter({.shape = HugeConv2dShape(),
                                                                .input = room,
                                                                .output_gradient = room,
                                                                .filter_gradient = Alloc(4096)}),
                                {"conv2d_backward_filter"}));
}

}  // namespace
}  // namespace acceld::conformance
