#include "tests/bench/harness/measurement.h"

#include <vector>

#include "backends/core/status.h"
#include "gtest/gtest.h"

namespace acceld::bench {
namespace {

TEST(MeasurementTest, QuantilesAreLinearBetweenNeighbours) {
  EXPECT_EQ(Quantile({7}, 0.25), 7);
  EXPECT_EQ(Quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(Quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_EQ(Quantile({4, 1, 3, 2}, 0.25), 1.75);
  EXPECT_EQ(Quantile({4, 1, 3, 2}, 1), 4);
}

TEST(MeasurementTest, RoundsLeaveOutTheWarmUp) {
  double next = 100;
  const absl::StatusOr<Measurement> measured = MeasureRounds(3, [&] { return next /= 10; });
  ASSERT_TRUE(measured.ok());
  EXPECT_EQ(measured->rounds, 3);
  EXPECT_EQ(measured->value, 0.1);
  EXPECT_FALSE(measured->numerator.has_value());
}

TEST(MeasurementTest, ARatioIsTheMedianOfThePairsNotTheRatioOfTheMedians) {
  const std::vector<double> above = {1, 10, 20, 60};
  const std::vector<double> below = {1, 1, 10, 10};
  std::size_t i = 0;
  std::size_t j = 0;
  const absl::StatusOr<Measurement> measured = MeasurePairs(
      3, [&] { return above[i++]; }, [&] { return below[j++]; });
  ASSERT_TRUE(measured.ok());
  EXPECT_EQ(measured->value, 6);
  EXPECT_EQ(measured->numerator, 20);
  EXPECT_EQ(measured->denominator, 10);
}

TEST(MeasurementTest, AnErrorEndsIt) {
  const absl::Status error = InvalidArgument("No.");
  const auto fails = [&]() -> absl::StatusOr<double> { return error; };
  const auto works = []() -> absl::StatusOr<double> { return 1; };
  EXPECT_EQ(MeasureRounds(3, fails).status(), error);
  EXPECT_EQ(MeasurePairs(3, works, fails).status(), error);
}

}  // namespace
}  // namespace acceld::bench
