#include <cmath>
#include <vector>

#include "tests/conformance/conv2d_cases.h"
#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

class Conv2dForwardTest : public ConformanceTest {
 protected:
  void CompareOn(const Conv2dShape& shape) {
    const auto input = random_.Floats(ElementCount(shape.input));
    const auto filter = random_.Floats(ElementCount(shape.filter));
    // Overwritten, whatever it was.
    std::vector<float> output(static_cast<std::size_t>(ElementCount(shape.output)), kNan);
    RunBoth(ops::Conv2dForward{.shape = shape,
                               .input = HostAddress(input),
                               .filter = HostAddress(filter),
                               .output = HostAddress(output)});
  }

  std::vector<float> Convolve(const Conv2dShape& shape, const std::vector<float>& input,
                              const std::vector<float>& filter) {
    const auto count = static_cast<std::size_t>(ElementCount(shape.output));
    const Address output = Alloc(count * 4);
    EXPECT_TRUE(IsOk(backend().Conv2dForward(
        {.shape = shape, .input = Upload(input), .filter = Upload(filter), .output = output})));
    return Floats(output, count);
  }
};

TEST_F(Conv2dForwardTest, MatchesTheReferenceOnCornerShapes) {
  const std::vector<Conv2dShape> shapes = Conv2dShapes();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    SCOPED_TRACE(i);
    CompareOn(shapes[i]);
  }
}

TEST_F(Conv2dForwardTest, MatchesTheReferenceOnRandomShapes) {
  for (int i = 0; i < 20; ++i) CompareOn(RandomConv2dShape(random_));
}

TEST_F(Conv2dForwardTest, MatchesTheReferenceOnRandomOddShapes) {
  for (int i = 0; i < 20; ++i) {
    const Conv2dShape shape = RandomOddConv2dShape(random_);
    SCOPED_TRACE(
        testing::PrintToString(std::tuple(shape.input, shape.filter, shape.stride, shape.padding)));
    CompareOn(shape);
  }
}

TEST_F(Conv2dForwardTest, CrossCorrelatesAndDoesNotFlipTheFilter) {
  const auto shape = Conv2dShape::For({1, 1, 2, 3}, {1, 1, 2, 2});
  EXPECT_EQ(Convolve(shape, {1, 2, 3, 4, 5, 6}, {1, 10, 100, 1000}),
            (std::vector<float>{1 + 20 + 400 + 5000, 2 + 30 + 500 + 6000}));
}

TEST_F(Conv2dForwardTest, TakesStrideAndPaddingAsVerticalThenHorizontal) {
  const auto shape = Conv2dShape::For({1, 1, 3, 2}, {1, 1, 1, 1}, {2, 1}, {0, 1});
  EXPECT_EQ(Convolve(shape, {1, 2, 3, 4, 5, 6}, {2}),
            (std::vector<float>{0, 2, 4, 0, 0, 10, 12, 0}));
}

TEST_F(Conv2dForwardTest, LaysOutChannelsAndBatchAsNchw) {
  const auto shape = Conv2dShape::For({2, 2, 1, 1}, {3, 2, 1, 1});
  EXPECT_EQ(Convolve(shape, {1, 2, 3, 4}, {1, 10, 100, 1000, 10000, 100000}),
            (std::vector<float>{21, 2100, 210000, 43, 4300, 430000}));
}

// Fast algorithms that mix neighbouring outputs, such as Winograd's, would spread it further.
TEST_F(Conv2dForwardTest, SpreadsANanOnlyToTheOutputsThatReadIt) {
  const auto shape = Conv2dShape::For({1, 8, 12, 12}, {8, 8, 3, 3}, {1, 1}, {1, 1});
  auto input = random_.Floats(ElementCount(shape.input));
  input[3 * 144 + 5 * 12 + 6] = kNan;
  const auto filter = random_.Floats(ElementCount(shape.filter));
  const std::vector<float> output = Convolve(shape, input, filter);
  for (std::int64_t i = 0; i < ElementCount(shape.output); ++i) {
    const std::int64_t y = i / 12 % 12;
    const std::int64_t x = i % 12;
    EXPECT_EQ(std::isnan(output[static_cast<std::size_t>(i)]),
              std::abs(y - 5) <= 1 && std::abs(x - 6) <= 1)
        << i;
  }
}

TEST_F(Conv2dForwardTest, MultipliesZerosWithInfinity) {
  const auto shape = Conv2dShape::For({1, 1, 3, 3}, {1, 1, 3, 3});
  std::vector<float> input(9, 1);
  input[4] = kInfinity;
  EXPECT_TRUE(std::isnan(Convolve(shape, input, std::vector<float>(9, 0))[0]));
}

TEST_F(Conv2dForwardTest, RunsOneShapeAgainWithOtherContents) {
  // Small; in whole blocks of channels; and in neither.
  for (const Conv2dShape& shape :
       {Conv2dShape::For({2, 3, 7, 9}, {4, 3, 3, 3}, {1, 1}, {1, 1}),
        Conv2dShape::For({3, 32, 14, 14}, {48, 32, 3, 3}, {1, 1}, {1, 1}),
        Conv2dShape::For({3, 29, 13, 15}, {37, 29, 3, 3}, {2, 1}, {0, 1})}) {
    for (int i = 0; i < 3; ++i) CompareOn(shape);
  }
}

// Anything cached by shape must tell these apart.
TEST_F(Conv2dForwardTest, TellsShapesApartThatDifferOnlyInStrideOrPadding) {
  for (const auto& [stride, padding] :
       {std::pair<std::int64_t, std::int64_t>{1, 0}, {2, 0}, {1, 1}, {2, 1}, {1, 0}}) {
    CompareOn(Conv2dShape::For({1, 2, 6, 6}, {2, 2, 3, 3}, {stride, 1}, {padding, 0}));
    CompareOn(Conv2dShape::For({1, 2, 6, 6}, {2, 2, 3, 3}, {1, stride}, {0, padding}));
  }
}

TEST_F(Conv2dForwardTest, RefusesBadShapes) {
  const Address room = Alloc(1 << 16);
  const Address output = Alloc(1 << 16);
  for (const BadConv2dShape& bad : BadConv2dShapes()) {
    EXPECT_TRUE(IsInvalidArgument(
        backend().Conv2dForward(
            {.shape = bad.shape, .input = room, .filter = room, .output = output}),
        {"conv2d_forward", bad.argument}));
  }
}

TEST_F(Conv2dForwardTest, RefusesHugeShapesWithoutOverflow) {
  const Address room = Alloc(4096);
  EXPECT_TRUE(IsInvalidArgument(
      backend().Conv2dForward(
          {.shape = HugeConv2dShape(), .input = room, .filter = room, .output = Alloc(4096)}),
      {"conv2d_forward"}));
}

}  // namespace
}  // namespace acceld::conformance
