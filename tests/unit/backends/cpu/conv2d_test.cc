#include "backends/reference/reference.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld {
namespace {

std::string ToString(const Conv2dShape& shape) {
  return testing::PrintToString(
      std::make_tuple(shape.input, shape.filter, shape.stride, shape.padding));
}

class CpuConv2d : public testing::Test {
 protected:
  // Runs all three convolutions of `shape` on the device and by the reference. The arrays begin 4
  // bytes behind an aligned address, as views into an allocation may.
  void ExpectLikeReference(const Conv2dShape& shape);

  struct Results {
    std::vector<float> actual, expected;
  };
  // What the device and the reference write to `op`.*result, each into an array of `elements`
  // elements that were NaN, from `offset` bytes on.
  template <typename Convolution>
  Results RunBoth(Convolution op, Address Convolution::*result, std::size_t elements,
                  Address offset = 0) {
    Results results{.actual = std::vector<float>(elements, NAN),
                    .expected = std::vector<float>(elements, NAN)};
    op.*result = AddressOf(results.actual) + offset;
    EXPECT_THAT(device_.Run(Op(op)), IsOk());
    op.*result = AddressOf(results.expected) + offset;
    reference::Run(op);
    return results;
  }

  TestDevice device_;
  Random random_;
  const testing::ScopedTrace trace_{__FILE__, __LINE__, random_.Trace()};
};

void CpuConv2d::ExpectLikeReference(const Conv2dShape& shape) {
  SCOPED_TRACE(ToString(shape));
  ASSERT_THAT(shape.Check("conv2d"), IsOk());
  const auto input = random_.Vector(1 + ElementCount(shape.input));
  const auto filter = random_.Vector(1 + ElementCount(shape.filter));
  const auto output = random_.Vector(1 + ElementCount(shape.output));
  constexpr Address kOffset = sizeof(float);
  // For sums of this many products of numbers below 1.
  const auto tolerance = [](std::int64_t products) {
    return 1e-6 * static_cast<double>(products + 1);
  };
  {
    SCOPED_TRACE("forward");
    const auto [actual, expected] =
        RunBoth(ops::Conv2dForward{.shape = shape,
                                   .input = AddressOf(input) + kOffset,
                                   .filter = AddressOf(filter) + kOffset},
                &ops::Conv2dForward::output, output.size(), kOffset);
    ExpectClose(actual, expected, 1e-5,
                tolerance(shape.filter[1] * shape.filter[2] * shape.filter[3]));
  }
  {
    SCOPED_TRACE("backward data");
    const auto [actual, expected] =
        RunBoth(ops::Conv2dBackwardData{.shape = shape,
                                        .filter = AddressOf(filter) + kOffset,
                                        .output_gradient = AddressOf(output) + kOffset},
                &ops::Conv2dBackwardData::input_gradient, input.size(), kOffset);
    ExpectClose(actual, expected, 1e-5,
                tolerance(shape.filter[0] * shape.filter[2] * shape.filter[3]));
  }
  {
    SCOPED_TRACE("backward filter");
    const auto [actual, expected] =
        RunBoth(ops::Conv2dBackwardFilter{.shape = shape,
                                          .input = AddressOf(input) + kOffset,
                                          .output_gradient = AddressOf(output) + kOffset},
                &ops::Conv2dBackwardFilter::filter_gradient, filter.size(), kOffset);
    ExpectClose(actual, expected, 1e-5,
                tolerance(shape.output[0] * shape.output[2] * shape.output[3]));
  }
}

TEST_F(CpuConv2d, AgreesWithTheReference) {
  for (int i = 0; i < 60; ++i) {
    const std::int64_t channels = random_.Integer(1, 20);
    const std::array<std::int64_t, 4> input = {random_.Integer(1, 3), channels,
                                               random_.Integer(1, 17), random_.Integer(1, 17)};
    const std::array<std::int64_t, 4> filter = {random_.Integer(1, 20), channels,
                                                random_.Integer(1, 5), random_.Integer(1, 5)};
    const auto shape =
        Conv2dShape::For(input, filter, {random_.Integer(1, 3), random_.Integer(1, 3)},
                         {random_.Integer(0, 3), random_.Integer(0, 3)});
    if (!shape.Check("conv2d").ok()) continue;
    ExpectLikeReference(shape);
  }
}

// With strides and padding also beyond the filter.
TEST_F(CpuConv2d, AgreesWithTheReferenceForSmallShapes) {
  for (int i = 0; i < 150; ++i) {
    const std::int64_t channels = random_.Integer(1, 9);
    const auto shape = Conv2dShape::For(
        {random_.Integer(1, 3), channels, random_.Integer(1, 9), random_.Integer(1, 12)},
        {random_.Integer(1, 18), channels, random_.Integer(1, 4), random_.Integer(1, 4)},
        {random_.Integer(1, 6), random_.Integer(1, 6)},
        {random_.Integer(0, 5), random_.Integer(0, 5)});
    if (shape.Check("conv2d").ok()) ExpectLikeReference(shape);
  }
  ExpectLikeReference(Conv2dShape::For({1, 1, 4, 4100}, {16, 1, 4, 1}, {1, 1}));
}

TEST_F(CpuConv2d, AWeightThatIsNotFiniteSpreadsToTheGradientsOfItsProductsOnly) {
  for (int i = 0; i < 100; ++i) {
    const std::int64_t channels = random_.Integer(1, 4);
    const std::int64_t size = i % 2 == 0 ? random_.Integer(3, 9) : random_.Integer(60, 70);
    const auto shape = Conv2dShape::For(
        {1, channels, size, size},
        {random_.Integer(1, 18), channels, random_.Integer(1, 3), random_.Integer(1, 3)},
        {random_.Integer(1, 2), random_.Integer(1, 2)},
        {random_.Integer(0, 2), random_.Integer(0, 2)});
    if (!shape.Check("conv2d").ok()) continue;
    SCOPED_TRACE(ToString(shape));
    auto filter = random_.Vector(ElementCount(shape.filter));
    filter[static_cast<std::size_t>(
        random_.Integer(0, static_cast<std::int64_t>(filter.size()) - 1))] = INFINITY;
    const auto gradient = random_.Vector(ElementCount(shape.output));
    const auto [actual, expected] = RunBoth(
        ops::Conv2dBackwardData{
            .shape = shape, .filter = AddressOf(filter), .output_gradient = AddressOf(gradient)},
        &ops::Conv2dBackwardData::input_gradient,
        static_cast<std::size_t>(ElementCount(shape.input)));
    for (std::size_t j = 0; j < actual.size(); ++j) {
      ASSERT_EQ(std::isfinite(actual[j]), std::isfinite(expected[j])) << j;
    }
  }
}

// What a small image's vectors compute between the ends of its rows must not be seen.
TEST_F(CpuConv2d, KeepsWhatIsBehindSmallOutputs) {
  const auto shape = Conv2dShape::For({1, 2, 5, 5}, {3, 2, 3, 3}, {1, 1}, {1, 1});
  const auto input = random_.Vector(ElementCount(shape.input));
  const auto filter = random_.Vector(ElementCount(shape.filter));
  std::vector<float> output(static_cast<std::size_t>(ElementCount(shape.output) + 64), 7);
  ASSERT_THAT(device_.Run(Op(ops::Conv2dForward{.shape = shape,
                                                .input = AddressOf(input),
                                                .filter = AddressOf(filter),
                                                .output = AddressOf(output)})),
              IsOk());
  EXPECT_THAT(absl::MakeSpan(output).last(64), testing::Each(7));
}

TEST_F(CpuConv2d, AgreesWithTheReferenceForFullBlocksOfChannels) {
  ExpectLikeReference(Conv2dShape::For({5, 16, 9, 11}, {32, 16, 3, 3}, {1, 1}, {1, 1}));
  ExpectLikeReference(Conv2dShape::For({2, 3, 30, 30}, {16, 3, 7, 7}, {2, 2}, {3, 3}));
  ExpectLikeReference(Conv2dShape::For({3, 32, 8, 8}, {16, 32, 1, 1}));
}

TEST_F(CpuConv2d, AgreesWithTheReferenceForImagesInSeveralGroups) {
  // An odd number of images of more than a MiB in and out, the channels padded to 16.
  ExpectLikeReference(Conv2dShape::For({5, 9, 101, 103}, {9, 9, 3, 2}, {2, 1}, {1, 0}));
}

TEST_F(CpuConv2d, AgreesWithTheReferenceForFewFilters) {
  for (std::int64_t filters = 1; filters < 8; ++filters) {
    ExpectLikeReference(
        Conv2dShape::For({2, 8 - filters, 31, 60 + 8 * filters}, {filters, 8 - filters, 3, filters},
                         {random_.Integer(1, 3), 1}, {random_.Integer(0, 2), filters / 2}));
  }
  // In several stripes.
  ExpectLikeReference(Conv2dShape::For({1, 3, 300, 331}, {1, 3, 2, 5}, {1, 1}, {1, 4}));
  // Threads with rows of their own that begin and end within an image.
  ExpectLikeReference(Conv2dShape::For({3, 3, 61, 67}, {4, 3, 3, 3}, {1, 1}, {1, 1}));
}

TEST_F(CpuConv2d, TakesNoMemoryOfTheClientsForFewLargeFilters) {
  TestDevice device({.threads = 2, .memory_limit_bytes = 1 << 20});
  const Conv2dShape shape = Conv2dShape::For({1, 1500, 28, 28}, {7, 1500, 27, 27});
  const std::vector<float> input(static_cast<std::size_t>(ElementCount(shape.input)), 0.5F);
  const std::vector<float> output(static_cast<std::size_t>(ElementCount(shape.output)), 1);
  std::vector<float> filter(static_cast<std::size_t>(ElementCount(shape.filter)));
  ASSERT_THAT(device.Run(Op(ops::Conv2dBackwardFilter{.shape = shape,
                                                      .input = AddressOf(input),
                                                      .output_gradient = AddressOf(output),
                                                      .filter_gradient = AddressOf(filter)})),
              IsOk());
  EXPECT_THAT(filter, testing::Each(2));
}

// Wide filters that the kept workspace does not hold, whose turned copy was no use.
TEST_F(CpuConv2d, TakesNoMemoryOfTheClientsForManyWideFilters) {
  TestDevice device({.threads = 2, .memory_limit_bytes = 1 << 20});
  const Conv2dShape shape = Conv2dShape::For({1, 144, 16, 16}, {144, 144, 15, 15}, {1, 1}, {7, 7});
  const std::vector<float> output(static_cast<std::size_t>(ElementCount(shape.output)), 1);
  const std::vector<float> filter(static_cast<std::size_t>(ElementCount(shape.filter)), 0.5F);
  std::vector<float> input(static_cast<std::size_t>(ElementCount(shape.input)), NAN);
  ASSERT_THAT(device.Run(Op(ops::Conv2dBackwardData{.shape = shape,
                                                    .filter = AddressOf(filter),
                                                    .output_gradient = AddressOf(output),
                                                    .input_gradient = AddressOf(input)})),
              IsOk());
  // The first place is read by 8 x 8 of the outputs, the eighth by 15 x 15.
  EXPECT_EQ(input[0], 0.5F * 144 * 8 * 8);
  EXPECT_EQ(input[7 * 16 + 7], 0.5F * 144 * 15 * 15);
}

// What is kept from one convolution to the next is laid out for it: not the filter.
TEST_F(CpuConv2d, SeesAChangedFilter) {
  const Conv2dShape shape = Conv2dShape::For({2, 32, 14, 14}, {32, 32, 3, 3}, {1, 1}, {1, 1});
  const Conv2dShape other = Conv2dShape::For({2, 48, 14, 14}, {32, 48, 3, 3}, {1, 1}, {1, 1});
  // The same memory each time.
  std::vector<float> input;
  std::vector<float> filter;
  std::vector<float> output;
  for (int i = 0; i < 4; ++i) {
    const auto fill = [&](std::vector<float>& values, std::int64_t count) {
      values.reserve(100'000);
      const auto random = random_.Vector(count);
      values.assign(random.begin(), random.end());
    };
    const Conv2dShape& now = i == 2 ? other : shape;
    fill(input, ElementCount(now.input));
    fill(filter, ElementCount(now.filter));
    fill(output, ElementCount(now.output));
    const auto [actual, expected] = RunBoth(
        ops::Conv2dForward{.shape = now, .input = AddressOf(input), .filter = AddressOf(filter)},
        &ops::Conv2dForward::output, output.size());
    ExpectClose(actual, expected, 1e-5, 1e-3);
    const auto [gradient, expected_gradient] = RunBoth(
        ops::Conv2dBackwardData{
            .shape = now, .filter = AddressOf(filter), .output_gradient = AddressOf(output)},
        &ops::Conv2dBackwardData::input_gradient, input.size());
    ExpectClose(gradient, expected_gradient, 1e-5, 1e-3);
  }
}

// Equal products, whose rounding errors all go one way; many channels, and long rows of the filter.
TEST_F(CpuConv2d, KeepsTheDigitsOfLongSumsForFewFilters) {
  for (const Conv2dShape& shape :
       {Conv2dShape::For({1, 4096, 3, 20}, {1, 4096, 3, 3}, {1, 1}, {1, 1}),
        Conv2dShape::For({1, 2, 1, 30'000}, {1, 2, 1, 20'000})}) {
    SCOPED_TRACE(ToString(shape));
    const std::vector<float> input(static_cast<std::size_t>(ElementCount(shape.input)), 0.3F);
    const std::vector<float> filter(static_cast<std::size_t>(ElementCount(shape.filter)), 0.7F);
    const auto [actual, expected] = RunBoth(
        ops::Conv2dForward{.shape = shape, .input = AddressOf(input), .filter = AddressOf(filter)},
        &ops::Conv2dForward::output, static_cast<std::size_t>(ElementCount(shape.output)));
    ExpectClose(actual, expected, 1e-5, 0);
  }
}

// Rows so long that one has too many products for a sum, and many short ones.
TEST_F(CpuConv2d, KeepsTheDigitsOfLongSumsForGradientsOfFewFilters) {
  for (const Conv2dShape& shape : {Conv2dShape::For({1, 1, 9, 60'000}, {1, 1, 2, 3}),
                                   Conv2dShape::For({1, 1, 9000, 60}, {1, 1, 2, 3})}) {
    SCOPED_TRACE(ToString(shape));
    const std::vector<float> input(static_cast<std::size_t>(ElementCount(shape.input)), 0.3F);
    const std::vector<float> output(static_cast<std::size_t>(ElementCount(shape.output)), 0.7F);
    const auto [actual, expected] = RunBoth(
        ops::Conv2dBackwardFilter{
            .shape = shape, .input = AddressOf(input), .output_gradient = AddressOf(output)},
        &ops::Conv2dBackwardFilter::filter_gradient,
        static_cast<std::size_t>(ElementCount(shape.filter)));
    ExpectClose(actual, expected, 1e-5, 0);
  }
}

TEST_F(CpuConv2d, AgreesWithTheReferenceForFiltersThatCoverTheImage) {
  ExpectLikeReference(Conv2dShape::For({5, 13, 7, 6}, {17, 13, 7, 6}, {2, 3}));
  ExpectLikeReference(Conv2dShape::For({9, 67, 1, 1}, {41, 67, 1, 1}));
  ExpectLikeReference(Conv2dShape::For({3, 5, 9, 8}, {11, 5, 11, 8}, {4, 1}, {1, 0}));
}

TEST_F(CpuConv2d, AgreesWithTheReferenceForImagesOneRowOrColumnLong) {
  ExpectLikeReference(Conv2dShape::For({2, 9, 1, 211}, {10, 9, 1, 5}, {1, 2}, {0, 2}));
  ExpectLikeReference(Conv2dShape::For({2, 9, 211, 1}, {10, 9, 5, 1}, {2, 1}, {2, 0}));
  ExpectLikeReference(Conv2dShape::For({2, 9, 211, 1}, {10, 9, 5, 1}, {2, 1}, {2, 3}));
}

TEST_F(CpuConv2d, AgreesWithTheReferenceForWideFilters) {
  ExpectLikeReference(Conv2dShape::For({2, 9, 21, 23}, {8, 9, 3, 17}, {1, 1}, {1, 8}));
  ExpectLikeReference(Conv2dShape::For({1, 9, 21, 43}, {8, 9, 19, 3}, {1, 3}, {9, 2}));
}

TEST_F(CpuConv2d, AgreesWithTheReferenceForFiltersBeyondTheKeptWorkspace) {
  ExpectLikeReference(Conv2dShape::For({1, 1800, 1, 3}, {1801, 1800, 1, 1}));
}

TEST_F(CpuConv2d, AgreesWithTheReferenceInColumnsOfSeveralTiles) {
  // Padding beyond the filter is not oneDNN's.
  ExpectLikeReference(Conv2dShape::For({2, 90, 17, 19}, {9, 90, 3, 3}, {1, 1}, {1, 3}));
}

// In several parts, on several threads, and with strides beyond the filter.
TEST_F(CpuConv2d, AgreesWithTheReferenceForNarrowImages) {
  ExpectLikeReference(Conv2dShape::For({3, 17, 61, 53}, {13, 17, 5, 2}, {3, 1}, {2, 0}));
  ExpectLikeReference(Conv2dShape::For({2, 9, 67, 71}, {11, 9, 3, 3}, {1, 1}, {1, 1}));
  ExpectLikeReference(Conv2dShape::For({1, 30, 64, 80}, {15, 30, 1, 1}, {1, 1}, {0, 0}));
  ExpectLikeReference(Conv2dShape::For({1, 20, 81, 90}, {12, 20, 2, 3}, {3, 4}, {1, 2}));
}

TEST_F(CpuConv2d, AgreesWithTheReferenceForRowsOfTheInputSplitOverThreads) {
  // Few channels and many filters; the parts meet within an image, and between rows of the filter.
  ExpectLikeReference(Conv2dShape::For({3, 3, 29, 31}, {64, 3, 5, 4}, {2, 3}, {2, 1}));
  ExpectLikeReference(Conv2dShape::For({1, 3, 83, 17}, {64, 3, 4, 3}, {1, 1}, {3, 0}));
  ExpectLikeReference(Conv2dShape::For({1, 3, 83, 80}, {64, 3, 2, 3}, {3, 2}, {0, 1}));
}

TEST_F(CpuConv2d, AgreesWithTheReferenceForPaddingBeyondTheFilter) {
  ExpectLikeReference(Conv2dShape::For({2, 3, 4, 5}, {2, 3, 2, 3}, {2, 3}, {5, 9}));
  ExpectLikeReference(Conv2dShape::For({2, 3, 4, 5}, {4, 3, 9, 9}, {1, 1}, {20, 9}));
}

TEST_F(CpuConv2d, SurvivesTheLargestStridesAndPaddings) {
  constexpr std::int64_t kLargest = kDimensionLimit - 1;
  ExpectLikeReference(
      Conv2dShape::For({2, 1, 1, 1}, {3, 1, 1, 1}, {kLargest, kLargest}, {kLargest, kLargest}));
  ExpectLikeReference(Conv2dShape::For({1, 2, 3, 100'000}, {1, 2, 3, 70'000}, {1, 9'000}, {0, 3}));
  ExpectLikeReference(Conv2dShape::For({1, 1, 3, 3}, {1, 1, 2, 2}, {1'000'000, 2'000}, {1, 1}));
}

}  // namespace
}  // namespace acceld
