#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

constexpr float kSubnormal = 1e-40f;

class UnaryTest : public ConformanceTest {
 protected:
  std::vector<float> Apply(UnaryOp op, const std::vector<float>& values) {
    const Address output = Alloc(values.size() * 4);
    EXPECT_TRUE(IsOk(backend().Unary({.op = op,
                                      .n = static_cast<std::int64_t>(values.size()),
                                      .input = Upload(values),
                                      .output = output})));
    return Floats(output, values.size());
  }
  float Apply(UnaryOp op, float value) { return Apply(op, std::vector<float>{value})[0]; }
};

TEST_F(UnaryTest, MatchesTheReferenceForEveryOpAndManyLengths) {
  for (const auto& entry : EnumTable<UnaryOp>::kEntries) {
    const bool positive = entry.value == UnaryOp::kLog || entry.value == UnaryOp::kSqrt;
    for (const std::int64_t n : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 100, 1000, 4095, 100003}) {
      const auto input = random_.Floats(n, positive ? 0 : -10, 10);
      std::vector<float> output(input.size(), kNan);
      SCOPED_TRACE(testing::Message() << entry.name << " n " << n);
      RunBoth(ops::Unary{
          .op = entry.value, .n = n, .input = HostAddress(input), .output = HostAddress(output)});
    }
  }
}

TEST_F(UnaryTest, MatchesTheReferenceOnRandomOddLengths) {
  for (int i = 0; i < 24; ++i) {
    const std::int64_t n = random_.OddLength(1021) * random_.OddLength(251) + random_.Integer(0, 1);
    const auto input = random_.Floats(n, 0.01, 10);
    std::vector<float> output(input.size(), kNan);
    const UnaryOp op = EnumTable<UnaryOp>::kEntries[i % 8].value;
    SCOPED_TRACE(testing::Message() << Name(op) << " n " << n);
    RunBoth(
        ops::Unary{.op = op, .n = n, .input = HostAddress(input), .output = HostAddress(output)});
  }
}

TEST_F(UnaryTest, MatchesTheReferenceOnAllMagnitudes) {
  std::vector<float> input;
  for (int exponent = -149; exponent <= 127; ++exponent) {
    const float value = std::ldexp(static_cast<float>(random_.Real(1, 2)), exponent);
    input.push_back(value);
    input.push_back(-value);
  }
  for (const auto& entry : EnumTable<UnaryOp>::kEntries) {
    std::vector<float> output(input.size(), kNan);
    SCOPED_TRACE(entry.name);
    RunBoth(ops::Unary{.op = entry.value,
                       .n = static_cast<std::int64_t>(input.size()),
                       .input = HostAddress(input),
                       .output = HostAddress(output)});
  }
}

TEST_F(UnaryTest, RunsInPlace) {
  for (const auto& entry : EnumTable<UnaryOp>::kEntries) {
    auto values = random_.Floats(5001, 0.1, 3);
    SCOPED_TRACE(entry.name);
    RunBoth(ops::Unary{.op = entry.value,
                       .n = static_cast<std::int64_t>(values.size()),
                       .input = HostAddress(values),
                       .output = HostAddress(values)});
  }
}

TEST_F(UnaryTest, TakesTheMaximumWithZeroForRelu) {
  EXPECT_EQ(Apply(UnaryOp::kRelu, {-1, 0, 2.5f, -kInfinity, kInfinity, kSubnormal, -kSubnormal}),
            (std::vector<float>{0, 0, 2.5f, 0, kInfinity, kSubnormal, 0}));
}

// As fmax(NaN, 0); on lengths with and without a rest of a vector.
TEST_F(UnaryTest, GivesZeroForReluOfNan) {
  for (const std::size_t n : {1, 8, 19, 10000}) {
    EXPECT_EQ(Apply(UnaryOp::kRelu, std::vector<float>(n, kNan)), std::vector<float>(n, 0));
  }
}

TEST_F(UnaryTest, GivesNanForNanOtherwise) {
  for (const auto& entry : EnumTable<UnaryOp>::kEntries) {
    if (entry.value == UnaryOp::kRelu) continue;
    for (const float value : Apply(entry.value, std::vector<float>(19, kNan))) {
      EXPECT_TRUE(std::isnan(value)) << entry.name;
    }
  }
}

TEST_F(UnaryTest, HandlesInfinitiesAndZerosAsIeee754) {
  EXPECT_EQ(Apply(UnaryOp::kExp, kInfinity), kInfinity);
  EXPECT_EQ(Apply(UnaryOp::kExp, -kInfinity), 0);
  EXPECT_EQ(Apply(UnaryOp::kExp, 89.0f), kInfinity);
  EXPECT_EQ(Apply(UnaryOp::kExp, -200.0f), 0);
  EXPECT_EQ(Apply(UnaryOp::kExp, 0.0f), 1);
  EXPECT_EQ(Apply(UnaryOp::kLog, 0.0f), -kInfinity);
  EXPECT_EQ(Apply(UnaryOp::kLog, kInfinity), kInfinity);
  EXPECT_EQ(Apply(UnaryOp::kLog, 1.0f), 0);
  EXPECT_TRUE(std::isnan(Apply(UnaryOp::kLog, -1.0f)));
  EXPECT_TRUE(std::isnan(Apply(UnaryOp::kSqrt, -1.0f)));
  EXPECT_EQ(Apply(UnaryOp::kSqrt, kInfinity), kInfinity);
  EXPECT_EQ(Apply(UnaryOp::kTanh, kInfinity), 1);
  EXPECT_EQ(Apply(UnaryOp::kTanh, -kInfinity), -1);
  EXPECT_EQ(Apply(UnaryOp::kSigmoid, kInfinity), 1);
  EXPECT_EQ(Apply(UnaryOp::kSigmoid, -kInfinity), 0);
  EXPECT_EQ(Apply(UnaryOp::kSigmoid, 0.0f), 0.5f);
  EXPECT_EQ(Apply(UnaryOp::kAbs, -kInfinity), kInfinity);
  EXPECT_EQ(Apply(UnaryOp::kNeg, kInfinity), -kInfinity);
}

TEST_F(UnaryTest, DoesNotOverflowInsideSigmoidAndTanh) {
  for (const float value : {100.0f, 1e4f, 3e38f}) {
    EXPECT_EQ(Apply(UnaryOp::kSigmoid, value), 1);
    EXPECT_NEAR(Apply(UnaryOp::kSigmoid, -value), 0, 1e-40);
    EXPECT_EQ(Apply(UnaryOp::kTanh, value), 1);
    EXPECT_EQ(Apply(UnaryOp::kTanh, -value), -1);
  }
}

TEST_F(UnaryTest, KeepsTheSignOfZero) {
  EXPECT_TRUE(std::signbit(Apply(UnaryOp::kNeg, 0.0f)));
  EXPECT_FALSE(std::signbit(Apply(UnaryOp::kNeg, -0.0f)));
  EXPECT_FALSE(std::signbit(Apply(UnaryOp::kAbs, -0.0f)));
  EXPECT_TRUE(std::signbit(Apply(UnaryOp::kSqrt, -0.0f)));
  EXPECT_TRUE(std::signbit(Apply(UnaryOp::kTanh, -0.0f)));
  EXPECT_FALSE(std::signbit(Apply(UnaryOp::kTanh, 0.0f)));
}

TEST_F(UnaryTest, KeepsSubnormals) {
  EXPECT_EQ(Apply(UnaryOp::kNeg, kSubnormal), -kSubnormal);
  EXPECT_EQ(Apply(UnaryOp::kAbs, -kSubnormal), kSubnormal);
  EXPECT_EQ(Apply(UnaryOp::kSqrt, 0x1p-148f), 0x1p-74f);
}

TEST_F(UnaryTest, IsANoOpOnNothingAndLooksAtNoAddress) {
  EXPECT_TRUE(IsOk(backend().Unary({.n = 0})));
  EXPECT_TRUE(IsOk(backend().Unary({.n = 0, .input = kGarbage, .output = ~Address{0}})));
}

TEST_F(UnaryTest, RefusesNegativeAndHugeCounts) {
  const Address room = Alloc(64);
  const Address output = Alloc(64);
  for (const std::int64_t n :
       {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(), std::int64_t{1} << 61,
        std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_TRUE(IsInvalidArgument(backend().Unary({.n = n, .input = room, .output = output}),
                                  {"unary", "n", std::to_string(n)}));
  }
}

TEST_F(UnaryTest, RefusesAnUnknownOpEvenWhereNothingIsDone) {
  for (const int number : {0, 9, 255}) {
    EXPECT_TRUE(IsInvalidArgument(backend().Unary({.op = static_cast<UnaryOp>(number), .n = 0}),
                                  {"unary", "op"}));
  }
}

}  // namespace
}  // namespace acceld::conformance
