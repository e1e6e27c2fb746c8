#include "tests/bench/harness/report.h"

#include "gtest/gtest.h"

namespace acceld::bench {
namespace {

constexpr Measurement kPlain = {.value = 2, .low = 1, .high = 3, .rounds = 5};
constexpr Measurement kRatio = {
    .value = 0.5, .low = 0.25, .high = 0.75, .rounds = 5, .numerator = 1.5, .denominator = 3};

TEST(ReportTest, ValuesAreShortAndPlain) {
  EXPECT_EQ(FormatValue(0), "0");
  EXPECT_EQ(FormatValue(0.0123456), "0.01235");
  EXPECT_EQ(FormatValue(7.5), "7.5");
  EXPECT_EQ(FormatValue(1523412.4), "1523412");
}

TEST(ReportTest, AFigureHasEveryFieldInJson) {
  const Figure figure = {.name = "x_vs_y", .unit = "ratio", .sides_unit = "us", .measure = nullptr};
  EXPECT_EQ(ToJson(figure, kRatio),
            nlohmann::json::parse(R"({"name": "x_vs_y", "unit": "ratio", "value": 0.5, "low": 0.25,
                                      "high": 0.75, "rounds": 5, "numerator": 1.5,
                                      "denominator": 3.0})"));
}

TEST(ReportTest, OnlyARatioHasSides) {
  EXPECT_TRUE(ToJson(kPlain)["numerator"].is_null());
  EXPECT_TRUE(ToJson(kPlain)["denominator"].is_null());
}

TEST(ReportTest, MeasurementsComeBackFromJson) {
  for (const Measurement& measurement : {kPlain, kRatio}) {
    EXPECT_EQ(ToJson(FromJson(ToJson(measurement))), ToJson(measurement));
  }
}

}  // namespace
}  // namespace acceld::bench
