#include <bit>

#include "backends/core/rounding.h"
#include "tests/unit/backends/cpu/gemm_testing.h"

namespace acceld {
namespace {

TEST(CpuGemmMixedPrecision, AgreesWithTheReference) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (int i = 0; i < 30; ++i) {
    ops::GemmMixedPrecision op{
        .precision = random.Pick({MixedPrecision::kF16, MixedPrecision::kBf16}),
        .transpose_a = random.Pick(kTransposes),
        .transpose_b = random.Pick(kTransposes)};
    op.m = random.Integer(1, 60);
    op.n = random.Integer(1, 60);
    op.k = random.Integer(0, 60);
    op.alpha = random.Pick({1.0f, -0.5f, 0.0f});
    op.beta = random.Pick({0.0f, 1.5f});
    ExpectLikeReference<float>(device, random, op, 1e-6);
  }
}

TEST(CpuGemmMixedPrecision, AgreesWithTheReferenceBeyondOneBlock) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  ExpectLikeReference<float>(
      device, random,
      ops::GemmMixedPrecision{.transpose_a = Transpose::kTranspose, .m = 1540, .n = 3, .k = 1030},
      2e-6);
  ExpectLikeReference<float>(
      device, random,
      ops::GemmMixedPrecision{
          .transpose_b = Transpose::kTranspose, .m = 3, .n = 1540, .k = 520, .beta = 2},
      2e-6);
}

// Blocks of few rows and columns, next to each other or apart, from rows of A as stored and columns
// of them, are rounded in one go or column by column, by one thread or two.
TEST(CpuGemmMixedPrecision, AgreesWithTheReferenceForNarrowFactors) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const Transpose transpose_a : {Transpose::kNone, Transpose::kTranspose}) {
    for (const Transpose transpose_b : {Transpose::kNone, Transpose::kTranspose}) {
      for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 300'001},
                                    {1, 3, 70'001},
                                    {5, 2, 40'009},
                                    {33, 1, 9001},
                                    {1, 3001, 7},
                                    {3001, 2, 3},
                                    {35, 37, 5003}}) {
        ops::GemmMixedPrecision op{.transpose_a = transpose_a, .transpose_b = transpose_b};
        op.precision = random.Pick({MixedPrecision::kF16, MixedPrecision::kBf16});
        op.m = m;
        op.n = n;
        op.k = k;
        op.beta = random.Pick({0.0f, 1.5f});
        ExpectLikeReference<float>(device, random, op, 2e-6);
      }
    }
  }
}

// Large enough for the processor's own bf16 products.
TEST(CpuGemmMixedPrecision, AgreesWithTheReferenceForLargeProducts) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const Transpose a : {Transpose::kNone, Transpose::kTranspose}) {
    ops::GemmMixedPrecision op{.transpose_a = a, .m = 211, .n = 207, .k = 199};
    op.transpose_b = random.Pick({Transpose::kNone, Transpose::kTranspose});
    op.alpha = random.Pick({1.0f, -0.5f});
    op.beta = random.Pick({0.0f, 1.0f, 1.5f});
    ExpectLikeReference<float>(device, random, op, 2e-6);
  }
  ExpectLikeReference<float>(
      device, random, ops::GemmMixedPrecision{.m = 487, .n = 33, .k = 523, .beta = -0.5f}, 2e-6);
}

TEST(CpuGemmMixedPrecision, TakesOtherFactorsForOneShape) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const float alpha : {1.0F, -0.5F, 3.0F, 1.0F}) {
    for (const float beta : {0.0F, 1.0F}) {
      ExpectLikeReference<float>(
          device, random,
          ops::GemmMixedPrecision{.m = 224, .n = 208, .k = 192, .alpha = alpha, .beta = beta},
          2e-6);
    }
  }
}

// The only number of A that is not 0, at the end of its first column, times that of B, at the start
// of its last; then B^T times A^T.
TEST(CpuGemmMixedPrecision, KeepsSubnormalFactorsInLargeProducts) {
  TestDevice device;
  constexpr std::int64_t kSize = 256;
  std::vector<float> a(kSize * kSize);
  std::vector<float> b(kSize * kSize);
  std::vector<float> c(kSize * kSize);
  // In bf16 2^-130 is subnormal.
  a[kSize - 1] = 0x1p-130f;
  b[kSize * (kSize - 1)] = 0x1p100f;
  for (const bool subnormal_in_a : {true, false}) {
    ASSERT_THAT(device.Run(Op(ops::GemmMixedPrecision{
                    .precision = MixedPrecision::kBf16,
                    .transpose_a = subnormal_in_a ? Transpose::kNone : Transpose::kTranspose,
                    .transpose_b = subnormal_in_a ? Transpose::kNone : Transpose::kTranspose,
                    .m = kSize,
                    .n = kSize,
                    .k = kSize,
                    .a = AddressOf(subnormal_in_a ? a : b),
                    .lda = kSize,
                    .b = AddressOf(subnormal_in_a ? b : a),
                    .ldb = kSize,
                    .c = AddressOf(c),
                    .ldc = kSize})),
                IsOk());
    EXPECT_EQ(c.back(), 0x1p-30f);
  }
}

TEST(CpuGemmMixedPrecision, RoundsEveryPatternAsTheConversionsDo) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  std::vector<float> values = {1.0f,      65504.0f,     65519.9f, 65520.0f,  70000.0f,
                               0x1p-14f,  0x1p-24f,     0x1p-25f, -0.0f,     INFINITY,
                               -INFINITY, 0x1.ffep-15f, kNaN,     0x1p-126f, 0x1p-149f};
  // Random bits, of which many are near the edges of f16.
  while (values.size() < 60000) {
    const auto bits = static_cast<std::uint32_t>(random.Integer(0, 0xffffffff));
    values.push_back(std::bit_cast<float>(bits));
    values.push_back(std::bit_cast<float>((bits & 0x8fffffff) | 0x30000000));
  }
  for (const MixedPrecision precision : {MixedPrecision::kF16, MixedPrecision::kBf16}) {
    std::vector<float> rounded(values.size());
    const std::vector<float> one = {1};
    ASSERT_THAT(
        device.Run(Op(ops::GemmMixedPrecision{.precision = precision,
                                              .m = static_cast<std::int64_t>(values.size()),
                                              .n = 1,
                                              .k = 1,
                                              .a = AddressOf(values),
                                              .lda = static_cast<std::int64_t>(values.size()),
                                              .b = AddressOf(one),
                                              .ldb = 1,
                                              .c = AddressOf(rounded),
                                              .ldc = static_cast<std::int64_t>(values.size())})),
        IsOk());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float expected = RoundTo(precision, values[i]);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(rounded[i])) << values[i];
      } else {
        EXPECT_EQ(rounded[i], expected) << std::hexfloat << values[i];
      }
    }
  }
}

TEST(CpuGemmMixedPrecision, AccumulatesInF32) {
  TestDevice device;
  const std::vector<float> a(512, 1.0f / 16);
  std::vector<float> c(1);
  ASSERT_THAT(device.Run(Op(ops::GemmMixedPrecision{.precision = MixedPrecision::kBf16,
                                                    .m = 1,
                                                    .n = 1,
                                                    .k = 512,
                                                    .a = AddressOf(a),
                                                    .lda = 1,
                                                    .b = AddressOf(a),
                                                    .ldb = 512,
                                                    .c = AddressOf(c),
                                                    .ldc = 1})),
              IsOk());
  EXPECT_EQ(c[0], 2.0f);
}

}  // namespace
}  // namespace acceld
