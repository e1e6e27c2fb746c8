#include "backends/core/rounding.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace acceld {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float FromBits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t Bits(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST(F16Test, KnownBitPatterns) {
  EXPECT_EQ(F32ToF16(0.0f), 0x0000);
  EXPECT_EQ(F32ToF16(-0.0f), 0x8000);
  EXPECT_EQ(F32ToF16(1.0f), 0x3C00);
  EXPECT_EQ(F32ToF16(-2.0f), 0xC000);
  EXPECT_EQ(F32ToF16(65504.0f), 0x7BFF);
}

TEST(F16Test, TiesGoToEven) {
  EXPECT_EQ(F32ToF16(1.0f + 0x1p-11f), 0x3C00);
  EXPECT_EQ(F32ToF16(1.0f + 3 * 0x1p-11f), 0x3C02);
  EXPECT_EQ(F32ToF16(1.0f + 0x1p-11f + 0x1p-23f), 0x3C01);
}

TEST(F16Test, RoundingCarriesIntoTheExponent) { EXPECT_EQ(F32ToF16(2.0f - 0x1p-12f), 0x4000); }

TEST(F16Test, OverflowGivesInfinity) {
  EXPECT_EQ(F32ToF16(70000.0f), 0x7C00);
  EXPECT_EQ(F32ToF16(-70000.0f), 0xFC00);
  EXPECT_EQ(F32ToF16(kInfinity), 0x7C00);
  EXPECT_EQ(F32ToF16(std::numeric_limits<float>::max()), 0x7C00);
  EXPECT_EQ(F32ToF16(65520.0f), 0x7C00);  // the tie between 65504 and 2^16
  EXPECT_EQ(F32ToF16(std::nextafter(65520.0f, 0.0f)), 0x7BFF);
}

TEST(F16Test, SubnormalsAreKept) {
  EXPECT_EQ(F32ToF16(0x1p-24f), 0x0001);
  EXPECT_EQ(F32ToF16(-0x1p-24f), 0x8001);
  EXPECT_EQ(F32ToF16(0x1p-14f), 0x0400);
  EXPECT_EQ(F32ToF16(0x1p-14f - 0x1p-24f), 0x03FF);
  EXPECT_EQ(F32ToF16(0x1p-14f - 0x1p-26f), 0x0400);  // carries into the normal numbers
}

TEST(F16Test, TinyValuesGoToZeroWithTheirSign) {
  EXPECT_EQ(F32ToF16(0x1p-25f), 0x0000);  // the tie between 0 and 2^-24
  EXPECT_EQ(F32ToF16(-0x1p-25f), 0x8000);
  EXPECT_EQ(F32ToF16(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
  EXPECT_EQ(F32ToF16(std::numeric_limits<float>::denorm_min()), 0x0000);
}

TEST(F16Test, NanStaysNan) {
  EXPECT_EQ(F32ToF16(FromBits(0x7FC00000)), 0x7E00);
  EXPECT_EQ(F32ToF16(FromBits(0xFFC00000)), 0xFE00);
  EXPECT_EQ(F32ToF16(FromBits(0x7F800001)), 0x7E00);  // a payload that 10 bits cannot hold
}

TEST(F16Test, EveryPatternRoundTrips) {
  for (std::uint32_t pattern = 0; pattern < 65536; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const bool is_nan = (bits & 0x7FFF) > 0x7C00;
    EXPECT_EQ(std::isnan(F16ToF32(bits)), is_nan) << pattern;
    // A signaling NaN becomes quiet.
    EXPECT_EQ(F32ToF16(F16ToF32(bits)), is_nan ? bits | 0x0200 : bits) << pattern;
  }
}

TEST(F16Test, ValuesOfPatternsAreExact) {
  EXPECT_EQ(F16ToF32(0x3C00), 1.0f);
  EXPECT_EQ(F16ToF32(0x7BFF), 65504.0f);
  EXPECT_EQ(F16ToF32(0x0001), 0x1p-24f);
  EXPECT_EQ(F16ToF32(0x03FF), 1023 * 0x1p-24f);
  EXPECT_EQ(F16ToF32(0x7C00), kInfinity);
  EXPECT_EQ(Bits(F16ToF32(0x8000)), 0x80000000u);
}

// No neighbour of what `round` gives may be nearer, and of two equally near the even one is right.
template <typename Round, typename Value>
void ExpectNearest(float x, Round round, Value value) {
  const std::uint16_t bits = round(x);
  const double distance = std::fabs(static_cast<double>(value(bits)) - x);
  for (int step : {-1, 1}) {
    if ((bits & 0x7FFF) == 0 && step < 0) continue;
    const auto neighbour = static_cast<std::uint16_t>(bits + step);
    const float other = value(neighbour);
    if (!std::isfinite(other)) continue;
    const double other_distance = std::fabs(static_cast<double>(other) - x);
    EXPECT_LE(distance, other_distance) << x;
    if (distance == other_distance) {
      EXPECT_EQ(bits % 2, 0) << x;
    }
  }
}

TEST(RoundingTest, RandomValuesGoToTheNearest) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 100000; ++i) {
    const float x = FromBits(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(x)) continue;
    if (std::isfinite(Bf16ToF32(F32ToBf16(x)))) ExpectNearest(x, F32ToBf16, Bf16ToF32);
    // Most bit patterns are outside the range of f16.
    int exponent = 0;
    const float in_range =
        std::ldexp(std::frexp(x, &exponent), static_cast<int>(random() % 42) - 26);
    if (std::isfinite(F16ToF32(F32ToF16(in_range)))) ExpectNearest(in_range, F32ToF16, F16ToF32);
  }
}

TEST(Bf16Test, KnownBitPatterns) {
  EXPECT_EQ(F32ToBf16(1.0f), 0x3F80);
  EXPECT_EQ(F32ToBf16(-0.0f), 0x8000);
  EXPECT_EQ(F32ToBf16(kInfinity), 0x7F80);
  EXPECT_EQ(F32ToBf16(1.0f / 256), 0x3B80);
}

TEST(Bf16Test, TiesGoToEven) {
  EXPECT_EQ(F32ToBf16(FromBits(0x3F808000)), 0x3F80);
  EXPECT_EQ(F32ToBf16(FromBits(0x3F818000)), 0x3F82);
  EXPECT_EQ(F32ToBf16(FromBits(0x3F808001)), 0x3F81);
}

TEST(Bf16Test, RoundingCarriesIntoTheExponentAndToInfinity) {
  EXPECT_EQ(F32ToBf16(FromBits(0x3FFFFFFF)), 0x4000);
  EXPECT_EQ(F32ToBf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(F32ToBf16(-std::numeric_limits<float>::max()), 0xFF80);
}

TEST(Bf16Test, SubnormalsAreKept) {
  EXPECT_EQ(F32ToBf16(FromBits(0x00010000)), 0x0001);
  EXPECT_EQ(F32ToBf16(FromBits(0x00008000)), 0x0000);
  EXPECT_EQ(F32ToBf16(FromBits(0x00008001)), 0x0001);
}

TEST(Bf16Test, NanStaysNan) {
  EXPECT_TRUE(std::isnan(Bf16ToF32(F32ToBf16(FromBits(0x7F800001)))));
  EXPECT_TRUE(std::isnan(Bf16ToF32(F32ToBf16(FromBits(0xFFFFFFFF)))));
}

TEST(Bf16Test, EveryPatternRoundTrips) {
  for (std::uint32_t pattern = 0; pattern < 65536; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const bool is_nan = (bits & 0x7FFF) > 0x7F80;
    EXPECT_EQ(F32ToBf16(Bf16ToF32(bits)), is_nan ? bits | 0x0040 : bits) << pattern;
  }
}

TEST(RoundToTest, UsesTheNamedFormat) {
  EXPECT_EQ(RoundTo(MixedPrecision::kF16, 1.0f + 0x1p-10f), 1.0f + 0x1p-10f);
  EXPECT_EQ(RoundTo(MixedPrecision::kBf16, 1.0f + 0x1p-10f), 1.0f);
  EXPECT_EQ(RoundTo(MixedPrecision::kF16, 70000.0f), kInfinity);
  EXPECT_EQ(RoundTo(MixedPrecision::kBf16, 70000.0f), 70144.0f);
}

}  // namespace
}  // namespace acceld
