#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

constexpr Transpose kTransposes[] = {Transpose::kNone, Transpose::kTranspose,
                                     Transpose::kConjugateTranspose};
constexpr MixedPrecision kFormats[] = {MixedPrecision::kF16, MixedPrecision::kBf16};

class GemmMixedPrecisionTest : public ConformanceTest {
 protected:
  // With random leading dimensions and alpha.
  void CompareOn(ops::GemmMixedPrecision op) {
    const bool a_as_is = op.transpose_a == Transpose::kNone;
    const bool b_as_is = op.transpose_b == Transpose::kNone;
    op.lda = (a_as_is ? op.m : op.k) + random_.Integer(0, 5);
    op.ldb = (b_as_is ? op.k : op.n) + random_.Integer(0, 5);
    op.ldc = op.m + random_.Integer(0, 5);
    op.alpha = static_cast<float>(random_.Real(-2, 2));
    const auto a = random_.Floats(op.lda * (a_as_is ? op.k : op.m));
    const auto b = random_.Floats(op.ldb * (b_as_is ? op.n : op.k));
    auto c = random_.Floats(op.ldc * op.n);
    if (op.beta == 0) c.assign(c.size(), kNan);
    op.a = HostAddress(a);
    op.b = HostAddress(b);
    op.c = HostAddress(c);
    SCOPED_TRACE(testing::Message() << Name(op.precision) << " " << Name(op.transpose_a) << " "
                                    << Name(op.transpose_b) << " m " << op.m << " n " << op.n
                                    << " k " << op.k << " lda " << op.lda << " ldb " << op.ldb);
    RunBoth(op);
  }

  // The sum of products of two vectors: a [1, k] x [k, 1] product.
  float Dot(MixedPrecision precision, const std::vector<float>& a, const std::vector<float>& b,
            float alpha = 1) {
    const auto k = static_cast<std::int64_t>(a.size());
    const Address c = Alloc(4);
    EXPECT_TRUE(IsOk(backend().GemmMixedPrecision({.precision = precision,
                                                   .m = 1,
                                                   .n = 1,
                                                   .k = k,
                                                   .alpha = alpha,
                                                   .a = Upload(a),
                                                   .lda = 1,
                                                   .b = Upload(b),
                                                   .ldb = k,
                                                   .c = c,
                                                   .ldc = 1})));
    return Floats(c, 1)[0];
  }

  // Each value as it is after rounding, by a [count, 1] x [1, 1] product with 1; once as A, once as
  // B.
  void ExpectRounds(MixedPrecision precision, const std::vector<std::pair<float, float>>& cases) {
    std::vector<float> values;
    for (const auto& [value, rounded] : cases) values.push_back(value);
    const auto count = static_cast<std::int64_t>(cases.size());
    const Address x = Upload(values);
    const Address one = Upload(std::vector<float>{1});
    for (const bool as_a : {true, false}) {
      const Address c = Alloc(values.size() * 4);
      ASSERT_TRUE(IsOk(backend().GemmMixedPrecision({.precision = precision,
                                                     .m = as_a ? count : 1,
                                                     .n = as_a ? 1 : count,
                                                     .k = 1,
                                                     .a = as_a ? x : one,
                                                     .lda = as_a ? count : 1,
                                                     .b = as_a ? one : x,
                                                     .ldb = 1,
                                                     .c = c,
                                                     .ldc = as_a ? count : 1})));
      const std::vector<float> found = Floats(c, values.size());
      for (std::size_t i = 0; i < cases.size(); ++i) {
        const auto& [value, rounded] = cases[i];
        if (std::isnan(rounded)) {
          EXPECT_TRUE(std::isnan(found[i])) << value;
        } else {
          EXPECT_EQ(found[i], rounded) << std::hexfloat << value << " as " << (as_a ? "A" : "B");
        }
      }
    }
  }
};

TEST_F(GemmMixedPrecisionTest, MatchesTheReferenceForAllTransposesSizesAndLeadingDimensions) {
  for (MixedPrecision precision : kFormats) {
    for (Transpose transpose_a : kTransposes) {
      for (Transpose transpose_b : kTransposes) {
        for (int i = 0; i < 3; ++i) {
          CompareOn({.precision = precision,
                     .transpose_a = transpose_a,
                     .transpose_b = transpose_b,
                     .m = random_.Integer(1, 60),
                     .n = random_.Integer(1, 60),
                     .k = random_.Integer(1, 60),
                     .beta = static_cast<float>(i == 0 ? 0 : random_.Real(-2, 2))});
        }
      }
    }
  }
}

TEST_F(GemmMixedPrecisionTest, MatchesTheReferenceOnRandomOddShapes) {
  for (int i = 0; i < 24; ++i) {
    ops::GemmMixedPrecision op{.precision = kFormats[i % 2],
                               .transpose_a = kTransposes[random_.Integer(0, 2)],
                               .transpose_b = kTransposes[random_.Integer(0, 2)]};
    std::int64_t left = 1 << 20;
    for (std::int64_t* const size : {&op.m, &op.n, &op.k}) {
      *size = random_.OddLength(left);
      left /= *size;
    }
    op.beta = static_cast<float>(random_.Integer(0, 2)) * 0.75f;
    CompareOn(op);
  }
}

// One number against one, of many: where A is stored as it is read, columns of one element.
TEST_F(GemmMixedPrecisionTest, MatchesTheReferenceOnLongAndThinProducts) {
  for (const Transpose transpose : {Transpose::kNone, Transpose::kTranspose}) {
    for (const auto& [m, n, k] :
         {std::array<std::int64_t, 3>{1, 1, 20011}, {3, 2, 10007}, {5003, 1, 3}, {2, 7001, 5}}) {
      CompareOn({.precision = MixedPrecision::kBf16,
                 .transpose_a = transpose,
                 .transpose_b = transpose,
                 .m = m,
                 .n = n,
                 .k = k});
    }
  }
}

// Of which a device may make several, or leave them to instructions for such formats.
TEST_F(GemmMixedPrecisionTest, MatchesTheReferenceForLargeProducts) {
  struct Case {
    MixedPrecision precision;
    std::int64_t m, n, k;
    float alpha, beta;
  };
  for (const Case& large : {Case{MixedPrecision::kBf16, 257, 263, 251, -0.5F, 1.5F},
                            Case{MixedPrecision::kBf16, 1543, 37, 149, 1, 0},
                            Case{MixedPrecision::kF16, 37, 1543, 41, 2, 1}}) {
    ops::GemmMixedPrecision op{.precision = large.precision};
    op.m = op.lda = op.ldc = large.m;
    op.n = large.n;
    op.k = op.ldb = large.k;
    op.alpha = large.alpha;
    op.beta = large.beta;
    const auto a = random_.Floats(op.m * op.k);
    const auto b = random_.Floats(op.k * op.n);
    auto c = random_.Floats(op.m * op.n);
    if (op.beta == 0) c.assign(c.size(), kNan);
    op.a = HostAddress(a);
    op.b = HostAddress(b);
    op.c = HostAddress(c);
    SCOPED_TRACE(testing::Message()
                 << Name(op.precision) << " m " << op.m << " n " << op.n << " k " << op.k);
    RunBoth(op);
  }
}

// In bf16 the sum would stay at 1.
TEST_F(GemmMixedPrecisionTest, AccumulatesBf16ProductsInF32) {
  EXPECT_EQ(Dot(MixedPrecision::kBf16, std::vector<float>(512, 1.0f / 256),
                std::vector<float>(512, 1.0f)),
            2.0f);
}

// In f16 the sum would stay at 2048.
TEST_F(GemmMixedPrecisionTest, AccumulatesF16ProductsInF32) {
  EXPECT_EQ(
      Dot(MixedPrecision::kF16, std::vector<float>(4099, 1.0f), std::vector<float>(4099, 1.0f)),
      4099.0f);
}

TEST_F(GemmMixedPrecisionTest, DoesNotRoundProductsNorScalarsNorTheResult) {
  const float third = 1.0f / 3;
  for (MixedPrecision precision : kFormats) {
    // (1 + 2^-7)^2 needs 15 bits; both factors are exact in both formats.
    EXPECT_EQ(Dot(precision, {1.0078125f}, {1.0078125f}), 1.01568603515625f);
    EXPECT_EQ(Dot(precision, {1}, {1}, third), third);
  }
}

TEST_F(GemmMixedPrecisionTest, ScalesCWithoutRoundingIt) {
  for (MixedPrecision precision : kFormats) {
    const float value = 1 + 0x1p-23f;
    const Address c = Upload(std::vector<float>{value});
    const Address zero = Upload(std::vector<float>{0});
    ASSERT_TRUE(IsOk(backend().GemmMixedPrecision({.precision = precision,
                                                   .m = 1,
                                                   .n = 1,
                                                   .k = 1,
                                                   .a = zero,
                                                   .lda = 1,
                                                   .b = zero,
                                                   .ldb = 1,
                                                   .beta = 1,
                                                   .c = c,
                                                   .ldc = 1})));
    EXPECT_EQ(Floats(c, 1)[0], value);
  }
}

TEST_F(GemmMixedPrecisionTest, RoundsToF16) {
  ExpectRounds(MixedPrecision::kF16, {
                                         {1.0f, 1.0f},
                                         {-1.0f, -1.0f},
                                         {0.0f, 0.0f},
                                         {65504.0f, 65504.0f},
                                         {65519.0f, 65504.0f},
                                         {65520.0f, kInfinity},
                                         {70000.0f, kInfinity},
                                         {-70000.0f, -kInfinity},
                                         {kInfinity, kInfinity},
                                         {kNan, kNan},
                                         // Ties go to the even neighbour, down and up.
                                         {1 + 0x1p-11f, 1.0f},
                                         {1 + 0x3p-11f, 1 + 0x1p-9f},
                                         {1 + 0x1.002p-11f, 1 + 0x1p-10f},
                                         {2049.0f, 2048.0f},
                                         {2051.0f, 2052.0f},
                                         // A carry into the exponent.
                                         {0x1.ffep0f, 2.0f},
                                         {0x1.ffcp0f, 0x1.ffcp0f},
                                         // Subnormals, their smallest, and what lies below.
                                         {0x1p-14f, 0x1p-14f},
                                         {0x1.8p-15f, 0x1.8p-15f},
                                         {0x1p-24f, 0x1p-24f},
                                         {0x1p-25f, 0.0f},
                                         {0x1.000002p-25f, 0x1p-24f},
                                         {0x3p-25f, 0x1p-23f},
                                         {0x1p-26f, 0.0f},
                                         {0x1.ff8p-15f, 0x1.ff8p-15f},
                                         {0x1.ffcp-15f, 0x1p-14f},
                                         {0x1p-149f, 0.0f},
                                     });
}

TEST_F(GemmMixedPrecisionTest, RoundsToBf16) {
  ExpectRounds(MixedPrecision::kBf16, {
                                          {1.0f, 1.0f},
                                          {-1.0f, -1.0f},
                                          {70000.0f, 70144.0f},
                                          {0x1.fep127f, 0x1.fep127f},
                                          {0x1.fefffep127f, 0x1.fep127f},
                                          {0x1.ffp127f, kInfinity},
                                          {-0x1.fffffep127f, -kInfinity},
                                          {kInfinity, kInfinity},
                                          {kNan, kNan},
                                          {1 + 0x1p-8f, 1.0f},
                                          {1 + 0x3p-8f, 1 + 0x1p-6f},
                                          {1 + 0x1.0002p-8f, 1 + 0x1p-7f},
                                          {257.0f, 256.0f},
                                          {259.0f, 260.0f},
                                          {0x1.ffp0f, 2.0f},
                                          {0x1p-126f, 0x1p-126f},
                                          {0x1p-127f, 0x1p-127f},
                                          {0x1p-133f, 0x1p-133f},
                                          {0x1p-134f, 0.0f},
                                          {0x3p-134f, 0x1p-132f},
                                          {0x1p-149f, 0.0f},
                                      });
}

// A NaN whose payload lies only in the bits that rounding drops must not become an infinity.
TEST_F(GemmMixedPrecisionTest, KeepsNansWithLowPayloads) {
  for (const std::uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff800001u}) {
    const float nan = std::bit_cast<float>(bits);
    for (MixedPrecision precision : kFormats) EXPECT_TRUE(std::isnan(Dot(precision, {nan}, {1})));
  }
}

TEST_F(GemmMixedPrecisionTest, MultipliesAnOverflowedFactorAsInfinity) {
  EXPECT_TRUE(std::isnan(Dot(MixedPrecision::kF16, {70000.0f}, {0.0f})));
  EXPECT_EQ(Dot(MixedPrecision::kF16, {70000.0f}, {-1.0f}), -kInfinity);
}

TEST_F(GemmMixedPrecisionTest, LeavesItsInputsUnrounded) {
  const std::vector<float> values = {1 + 0x1p-20f};
  const Address a = Upload(values);
  const Address b = Upload(values);
  ASSERT_TRUE(IsOk(backend().GemmMixedPrecision(
      {.m = 1, .n = 1, .k = 1, .a = a, .lda = 1, .b = b, .ldb = 1, .c = Alloc(4), .ldc = 1})));
  EXPECT_EQ(Floats(a, 1), values);
  EXPECT_EQ(Floats(b, 1), values);
}

TEST_F(GemmMixedPrecisionTest, ScalesCWithAlphaZeroOrKZeroAndNeverLooksAtAAndB) {
  for (const std::int64_t k : {0, 3}) {
    for (const float beta : {0.0f, 1.0f, -0.5f}) {
      const Address c =
          Upload(beta == 0 ? std::vector<float>{kNan, kNan} : std::vector<float>{1, 2});
      ASSERT_TRUE(IsOk(backend().GemmMixedPrecision({.m = 2,
                                                     .n = 1,
                                                     .k = k,
                                                     .alpha = k == 0 ? 5.0f : 0.0f,
                                                     .a = kGarbage,
                                                     .lda = 2,
                                                     .b = 0,
                                                     .ldb = 3,
                                                     .beta = beta,
                                                     .c = c,
                                                     .ldc = 2})));
      const std::vector<float> expected = {beta * 1, beta * 2};
      EXPECT_EQ(Floats(c, 2), expected);
    }
  }
}

TEST_F(GemmMixedPrecisionTest, IsANoOpWithoutElementsOfC) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{0, 3}, {3, 0}}) {
    EXPECT_TRUE(IsOk(backend().GemmMixedPrecision(
        {.m = m, .n = n, .k = 2, .a = kGarbage, .lda = 3, .ldb = 2, .ldc = 3})));
  }
}

TEST_F(GemmMixedPrecisionTest, RefusesBadArgumentsEvenWhereNothingIsDone) {
  const ops::GemmMixedPrecision valid{.m = 0, .n = 2, .k = 2, .lda = 1, .ldb = 2, .ldc = 1};
  ASSERT_TRUE(IsOk(backend().GemmMixedPrecision(valid)));
  const std::string_view name = ops::GemmMixedPrecision::kName;
  for (const int number : {0, 3, 255}) {
    ops::GemmMixedPrecision bad = valid;
    bad.precision = static_cast<MixedPrecision>(number);
    EXPECT_TRUE(IsInvalidArgument(backend().GemmMixedPrecision(bad), {name, "precision"}));
    bad = valid;
    bad.transpose_a = static_cast<Transpose>(number == 3 ? 4 : number);
    EXPECT_TRUE(IsInvalidArgument(backend().GemmMixedPrecision(bad), {name, "transpose_a"}));
  }
  for (const std::int64_t number : {std::int64_t{-1}, std::int64_t{1} << 31}) {
    ops::GemmMixedPrecision bad = valid;
    bad.k = number;
    EXPECT_TRUE(
        IsInvalidArgument(backend().GemmMixedPrecision(bad), {name, "k", std::to_string(number)}));
  }
  ops::GemmMixedPrecision bad = valid;
  bad.ldb = 1;
  EXPECT_TRUE(IsInvalidArgument(backend().GemmMixedPrecision(bad), {name, "ldb", "1", "2"}));
}

}  // namespace
}  // namespace acceld::conformance
