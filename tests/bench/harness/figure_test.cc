#include "tests/bench/harness/figure.h"

#include <unistd.h>

#include <cstdlib>

#include "backends/core/status.h"
#include "gtest/gtest.h"

namespace acceld::bench {
namespace {

absl::StatusOr<Measurement> Measure(absl::StatusOr<Measurement> (*measure)(const Setting&),
                                    absl::Duration limit = absl::Seconds(60)) {
  return MeasureInChild({.name = "f", .unit = "us", .sides_unit = "", .measure = measure},
                        {.quick = true}, limit);
}

TEST(MeasureInChildTest, ReturnsWhatTheChildMeasures) {
  const auto measured = Measure([](const Setting& setting) -> absl::StatusOr<Measurement> {
    return Measurement{.value = 1.5, .rounds = setting.Rounds(9)};
  });
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->value, 1.5);
  EXPECT_EQ(measured->rounds, 2);
}

TEST(MeasureInChildTest, ReturnsTheErrorOfTheChild) {
  const auto measured = Measure([](const Setting&) -> absl::StatusOr<Measurement> {
    return UnsupportedError("There is no such transport.");
  });
  EXPECT_EQ(measured.status(), absl::UnimplementedError("There is no such transport."));
}

TEST(MeasureInChildTest, AChildThatEndsEarlyIsAnError) {
  const auto measured =
      Measure([](const Setting&) -> absl::StatusOr<Measurement> { std::_Exit(0); });
  EXPECT_TRUE(absl::IsInternal(measured.status())) << measured.status();
}

TEST(MeasureInChildTest, KillsAChildThatTakesTooLong) {
  const auto measured = Measure(
      [](const Setting&) -> absl::StatusOr<Measurement> {
        while (true) pause();
      },
      absl::Milliseconds(10));
  EXPECT_TRUE(absl::IsDeadlineExceeded(measured.status())) << measured.status();
}

}  // namespace
}  // namespace acceld::bench
