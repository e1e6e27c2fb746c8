#include <cmath>
#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

class BinaryTest : public ConformanceTest {
 protected:
  std::vector<float> Apply(BinaryOp op, const std::vector<float>& a, const std::vector<float>& b) {
    const Address output = Alloc(a.size() * 4);
    EXPECT_TRUE(IsOk(backend().Binary({.op = op,
                                       .n = static_cast<std::int64_t>(a.size()),
                                       .a = Upload(a),
                                       .b = Upload(b),
                                       .output = output})));
    return Floats(output, a.size());
  }
  float Apply(BinaryOp op, float a, float b) {
    return Apply(op, std::vector<float>{a}, std::vector<float>{b})[0];
  }
};

TEST_F(BinaryTest, MatchesTheReferenceForEveryOpAndManyLengths) {
  for (const auto& entry : EnumTable<BinaryOp>::kEntries) {
    for (const std::int64_t n : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 100, 1000, 4095, 100003}) {
      const auto a = random_.Floats(n, -10, 10);
      const auto b = random_.Floats(n, -10, 10);
      std::vector<float> output(a.size(), kNan);
      SCOPED_TRACE(testing::Message() << entry.name << " n " << n);
      RunBoth(ops::Binary{.op = entry.value,
                          .n = n,
                          .a = HostAddress(a),
                          .b = HostAddress(b),
                          .output = HostAddress(output)});
    }
  }
}

TEST_F(BinaryTest, MatchesTheReferenceOnRandomOddLengths) {
  for (int i = 0; i < 24; ++i) {
    const std::int64_t n = random_.OddLength(1021) * random_.OddLength(251) + random_.Integer(0, 1);
    const auto a = random_.Floats(n, -10, 10);
    const auto b = random_.Floats(n, -10, 10);
    std::vector<float> output(a.size(), kNan);
    const BinaryOp op = EnumTable<BinaryOp>::kEntries[i % 6].value;
    SCOPED_TRACE(testing::Message() << Name(op) << " n " << n);
    RunBoth(ops::Binary{
        .op = op, .n = n, .a = HostAddress(a), .b = HostAddress(b), .output = HostAddress(output)});
  }
}

// Every pair of these, each way round.
TEST_F(BinaryTest, MatchesTheReferenceOnSpecialValues) {
  const std::vector<float> specials = {0,     -0.0f,  1,       -1,        1e-40f,     -1e-45f,
                                       3e38f, -3e38f, 1.5e30f, kInfinity, -kInfinity, kNan};
  std::vector<float> a;
  std::vector<float> b;
  for (const float x : specials) {
    for (const float y : specials) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  for (const auto& entry : EnumTable<BinaryOp>::kEntries) {
    std::vector<float> output(a.size());
    SCOPED_TRACE(entry.name);
    RunBoth(ops::Binary{.op = entry.value,
                        .n = static_cast<std::int64_t>(a.size()),
                        .a = HostAddress(a),
                        .b = HostAddress(b),
                        .output = HostAddress(output)});
  }
}

TEST_F(BinaryTest, WritesOverEitherInputOrBoth) {
  for (const auto& entry : EnumTable<BinaryOp>::kEntries) {
    for (const int way : {0, 1, 2, 3}) {
      auto a = random_.Floats(5001, 1, 2);
      auto b = random_.Floats(5001, 1, 2);
      std::vector<float> other(5001);
      ops::Binary op{.op = entry.value, .n = 5001, .a = HostAddress(a), .b = HostAddress(b)};
      // Over a; over b; over both; both inputs equal, but not the output.
      if (way >= 2) op.b = op.a;
      op.output = way == 0 || way == 2 ? op.a : way == 1 ? op.b : HostAddress(other);
      SCOPED_TRACE(testing::Message() << entry.name << " way " << way);
      RunBoth(op);
    }
  }
}

TEST_F(BinaryTest, ReturnsTheNumberWhereOneSideIsNanForMaxAndMin) {
  for (BinaryOp op : {BinaryOp::kMax, BinaryOp::kMin}) {
    for (const std::size_t n : {1, 8, 19, 10000}) {
      const std::vector<float> nans(n, kNan);
      for (const float number : {-3.0f, kInfinity, -kInfinity}) {
        const std::vector<float> numbers(n, number);
        EXPECT_EQ(Apply(op, nans, numbers), numbers);
        EXPECT_EQ(Apply(op, numbers, nans), numbers);
      }
      EXPECT_TRUE(std::isnan(Apply(op, nans, nans)[n - 1]));
    }
  }
}

TEST_F(BinaryTest, GivesNanWhereOneSideIsNanOtherwise) {
  for (BinaryOp op : {BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul, BinaryOp::kDiv}) {
    EXPECT_TRUE(std::isnan(Apply(op, kNan, 0)));
    EXPECT_TRUE(std::isnan(Apply(op, 0, kNan)));
  }
}

TEST_F(BinaryTest, DividesByZeroAsIeee754) {
  EXPECT_EQ(Apply(BinaryOp::kDiv, 1, 0), kInfinity);
  EXPECT_EQ(Apply(BinaryOp::kDiv, 1, -0.0f), -kInfinity);
  EXPECT_TRUE(std::isnan(Apply(BinaryOp::kDiv, 0, 0)));
}

TEST_F(BinaryTest, DividesAndMultipliesExactlyRounded) {
  EXPECT_EQ(Apply(BinaryOp::kDiv, 1, 3), 1.0f / 3);
  EXPECT_EQ(Apply(BinaryOp::kMul, 1e-30f, 1e-10f), 1e-30f * 1e-10f);  // Subnormal.
}

TEST_F(BinaryTest, IsANoOpOnNothingAndLooksAtNoAddress) {
  EXPECT_TRUE(IsOk(backend().Binary({.n = 0})));
  EXPECT_TRUE(IsOk(backend().Binary({.n = 0, .a = kGarbage, .b = 1, .output = ~Address{0}})));
}

TEST_F(BinaryTest, RefusesNegativeAndHugeCounts) {
  const Address room = Alloc(64);
  const Address output = Alloc(64);
  for (const std::int64_t n : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
                               std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_TRUE(
        IsInvalidArgument(backend().Binary({.n = n, .a = room, .b = room, .output = output}),
                          {"binary", "n", std::to_string(n)}));
  }
}

TEST_F(BinaryTest, RefusesAnUnknownOpEvenWhereNothingIsDone) {
  for (const int number : {0, 7, 255}) {
    EXPECT_TRUE(IsInvalidArgument(backend().Binary({.op = static_cast<BinaryOp>(number), .n = 0}),
                                  {"binary", "op"}));
  }
}

}  // namespace
}  // namespace acceld::conformance
