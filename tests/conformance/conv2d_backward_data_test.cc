#include <cmath>
#include <vector>

#include "tests/conformance/conv2d_cases.h"
#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

class Conv2dBackwardDataTest : public ConformanceTest {
 protected:
  void CompareOn(const Conv2dShape& shape) {
    const auto filter = random_.Floats(ElementCount(shape.filter));
    const auto output_gradient = random_.Floats(ElementCount(shape.output));
    std::vector<float> input_gradient(static_cast<std::size_t>(ElementCount(shape.input)), kNan);
    RunBoth(ops::Conv2dBackwardData{.shape = shape,
                                    .filter = HostAddress(filter),
                                    .output_gradient = HostAddress(output_gradient),
                                    .input_gradient = HostAddress(input_gradient)});
  }

  std::vector<float> InputGradient(const Conv2dShape& shape, const std::vector<float>& filter,
                                   const std::vector<float>& output_gradient) {
    const auto count = static_cast<std::size_t>(ElementCount(shape.input));
    const Address input_gradient = Upload(std::vector<float>(count, kNan));
    EXPECT_TRUE(IsOk(backend().Conv2dBackwardData({.shape = shape,
                                                   .filter = Upload(filter),
                                                   .output_gradient = Upload(output_gradient),
                                                   .input_gradient = input_gradient})));
    return Floats(input_gradient, count);
  }
};

TEST_F(Conv2dBackwardDataTest, MatchesTheReferenceOnCornerShapes) {
  const std::vector<Conv2dShape> shapes = Conv2dShapes();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    SCOPED_TRACE(i);
    CompareOn(shapes[i]);
  }
}

TEST_F(Conv2dBackwardDataTest, MatchesTheReferenceOnRandomShapes) {
  for (int i = 0; i < 20; ++i) CompareOn(RandomConv2dShape(random_));
}

TEST_F(Conv2dBackwardDataTest, MatchesTheReferenceOnRandomOddShapes) {
  for (int i = 0; i < 20; ++i) {
    const Conv2dShape shape = RandomOddConv2dShape(random_);
    SCOPED_TRACE(
        testing::PrintToString(std::tuple(shape.input, shape.filter, shape.stride, shape.padding)));
    CompareOn(shape);
  }
}

TEST_F(Conv2dBackwardDataTest, SumsTheFilterElementsThatReadEachInput) {
  const auto shape = Conv2dShape::For({1, 1, 1, 3}, {1, 1, 1, 2});
  EXPECT_EQ(InputGradient(shape, {1, 10}, {1, 100}), (std::vector<float>{1, 10 + 100, 1000}));
}

// A stride of 3 leaves inputs unread between the filters and behind the last one.
TEST_F(Conv2dBackwardDataTest, GivesZeroForInputsThatNoOutputReads) {
  const auto shape = Conv2dShape::For({1, 1, 1, 8}, {1, 1, 1, 2}, {1, 3});
  ASSERT_EQ(shape.output[3], 3);
  EXPECT_EQ(InputGradient(shape, {1, 10}, {2, 3, 4}),
            (std::vector<float>{2, 20, 0, 3, 30, 0, 4, 40}));
}

TEST_F(Conv2dBackwardDataTest, SpreadsANanOnlyToTheInputsItsOutputRead) {
  const auto shape = Conv2dShape::For({1, 8, 12, 12}, {8, 8, 3, 3}, {1, 1}, {1, 1});
  const auto filter = random_.Floats(ElementCount(shape.filter));
  auto output_gradient = random_.Floats(ElementCount(shape.output));
  output_gradient[3 * 144 + 5 * 12 + 6] = kNan;
  const std::vector<float> input_gradient = InputGradient(shape, filter, output_gradient);
  for (std::int64_t i = 0; i < ElementCount(shape.input); ++i) {
    const std::int64_t y = i / 12 % 12;
    const std::int64_t x = i % 12;
    EXPECT_EQ(std::isnan(input_gradient[static_cast<std::size_t>(i)]),
              std::abs(y - 5) <= 1 && std::abs(x - 6) <= 1)
        << i;
  }
}

TEST_F(Conv2dBackwardDataTest, RefusesBadShapes) {
  const Address room = Alloc(1 << 16);
  const Address output = Alloc(1 << 16);
  for (const BadConv2dShape& bad : BadConv2dShapes()) {
    EXPECT_TRUE(IsInvalidArgument(backend().Conv2dBackwardData({.shape = bad.shape,
                                                                .filter = room,
                                                                .output_gradient = room,
                                                                .input_gradient = output}),
                                  {"conv2d_backward_data", bad.argument}));
  }
}

TEST_F(Conv2dBackwardDataTest, RefusesHugeShapesWithoutOverflow) {
  const Address room = Alloc(4096);
  EXPECT_TRUE(IsInvalidArgument(backend().Conv2dBackwardData({.shape = HugeConv2dShape(),
                                                              .filter = room,
                                                              .output_gradient = room,
                                                              .input_gradient = Alloc(4096)}),
                                {"conv2d_backward_data"}));
}

}  // namespace
}  // namespace acceld::conformance
