#include "tests/unit/backends/cpu/gemm_testing.h"

namespace acceld {
namespace {

TEST(CpuGemm, AgreesWithTheReferenceForAllTransposes) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const Transpose a : kTransposes) {
    for (const Transpose b : kTransposes) {
      for (const std::int64_t largest : {9, 40, 150}) {
        ops::Gemm op{.transpose_a = a, .transpose_b = b};
        op.m = random.Integer(1, largest);
        op.n = random.Integer(1, largest);
        op.k = random.Integer(0, largest);
        op.alpha = random.Pick({1.0, -0.5, 0.0, 2.5});
        op.beta = random.Pick({0.0, 1.0, -1.5});
        op.type = DataType::kF32;
        ExpectLikeReference<float>(device, random, op, 4e-7);
        op.type = DataType::kF64;
        ExpectLikeReference<double>(device, random, op, 8e-16);
      }
    }
  }
}

// Most are products of more than a million multiplications, which OpenBLAS and oneDNN share.
TEST(CpuGemm, AgreesWithTheReferenceForOddShapes) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const Transpose transpose_a : {Transpose::kNone, Transpose::kTranspose}) {
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{113, 107, 101},
                                  {1, 1201, 1009},
                                  {1201, 1, 1009},
                                  {4, 523, 541},
                                  {523, 8, 269},
                                  {9, 353, 379},
                                  {353, 61, 59},
                                  {61, 1009, 17},
                                  {1009, 1, 1},
                                  {1, 1009, 1},
                                  {1031, 1021, 1},
                                  {5, 7, 30011},
                                  {3, 5, 100003}}) {
      ops::Gemm op{.transpose_a = transpose_a, .m = m, .n = n, .k = k};
      op.transpose_b = random.Pick({Transpose::kNone, Transpose::kTranspose});
      op.alpha = random.Pick({1.0, -0.5});
      op.beta = random.Pick({0.0, 1.0, -1.5});
      op.type = DataType::kF32;
      ExpectLikeReference<float>(device, random, op, 4e-7);
      op.type = DataType::kF64;
      ExpectLikeReference<double>(device, random, op, 8e-16);
    }
  }
}

// Equal products, whose rounding errors all go one way.
TEST(CpuGemm, KeepsTheDigitsOfLongSums) {
  TestDevice device;
  constexpr std::int64_t kLength = 100'003;
  const std::vector<float> a(3 * kLength, 0.3F);
  const std::vector<float> b(5 * kLength, 0.7F);
  ops::Gemm op{.m = 3, .n = 5, .k = kLength, .lda = 3, .ldb = kLength, .ldc = 3};
  op.type = DataType::kF32;
  op.a = AddressOf(a);
  op.b = AddressOf(b);
  ExpectLikeReference(device, op, std::vector<float>(3 * 5), 1e-5, 0);
}

// Primitives of oneDNN's are kept for these, and are to be told where the operands of each call
// are.
TEST(CpuGemm, OfOneShapeAgreesWithTheReferenceForEachOfItsOperands) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  constexpr std::int64_t kSize = 256;
  for (const Transpose transpose_a : {Transpose::kNone, Transpose::kTranspose}) {
    for (const std::int64_t n : {kSize, kSize + 3, kSize}) {
      const auto a = random.Vector(kSize * kSize);
      const auto b = random.Vector(kSize * n);
      ops::Gemm op{.transpose_a = transpose_a, .m = kSize, .n = n, .k = kSize};
      op.lda = op.ldb = op.ldc = kSize;
      op.a = AddressOf(a);
      op.b = AddressOf(b);
      ExpectLikeReference(device, op, std::vector<float>(static_cast<std::size_t>(kSize * n), kNaN),
                          4e-7, 1e-4);
    }
  }
}

// Devices share the primitives but not the threads that run them.
TEST(CpuGemm, GivesTheSameBitsOnEveryDevice) {
  constexpr std::int64_t kSize = 512;
  Random random;
  SCOPED_TRACE(random.Trace());
  const auto a = random.Vector(kSize * kSize);
  const auto b = random.Vector(kSize * kSize);
  ops::Gemm op{.m = kSize, .n = kSize, .k = kSize, .lda = kSize, .ldb = kSize, .ldc = kSize};
  op.transpose_a = op.transpose_b = Transpose::kTranspose;
  op.a = AddressOf(a);
  op.b = AddressOf(b);
  TestDevice first;
  std::vector<float> expected(kSize * kSize);
  op.c = AddressOf(expected);
  ASSERT_THAT(first.Run(Op(op)), IsOk());
  for (int i = 0; i < 3; ++i) {
    TestDevice other;
    std::vector<float> c(kSize * kSize, kNaN);
    op.c = AddressOf(c);
    ASSERT_THAT(other.Run(Op(op)), IsOk());
    EXPECT_TRUE(SameBits(c, expected));
  }
}

TEST(CpuGemm, OfFewVectorsSpreadsNaNOfItsFactors) {
  TestDevice device;
  const std::vector<double> zeros(1024 * 1024);
  for (const double special : {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL}) {
    std::vector<double> vectors(2 * 1024);
    vectors[1024 + 7] = special;
    std::vector<double> c(2 * 1024, special);
    ops::Gemm op{.type = DataType::kF64, .k = 1024, .lda = 1024, .ldb = 1024, .ldc = 1024};
    op.m = 1024;
    op.n = 2;
    op.a = AddressOf(zeros);
    op.b = AddressOf(vectors);
    op.c = AddressOf(c);
    ASSERT_THAT(device.Run(Op(op)), IsOk());
    EXPECT_THAT(absl::MakeSpan(c).first(1024), testing::Each(0));
    EXPECT_THAT(absl::MakeSpan(c).subspan(1024), testing::Each(testing::IsNan()));
  }
}

// The factors' product is formed first, as in all other products; alpha times one of them
// overflows.
TEST(CpuGemm, OfAColumnAndAnElementScalesTheirProduct) {
  TestDevice device;
  constexpr std::int64_t kLength = 1000;
  const std::vector<float> column(kLength, 0x1p-100F);
  const std::vector<float> element = {0x1p100F};
  std::vector<float> c(kLength);
  ops::Gemm op{.m = kLength, .n = 1, .k = 1, .alpha = 0x1p100};
  op.lda = op.ldb = op.ldc = kLength;
  op.a = AddressOf(column);
  op.b = AddressOf(element);
  op.c = AddressOf(c);
  for (const double beta : {0.0, 1.0}) {
    c.assign(kLength, 0.0F);
    op.beta = beta;
    ASSERT_THAT(device.Run(Op(op)), IsOk());
    EXPECT_THAT(c, testing::Each(0x1p100F));
  }
}

TEST(CpuGemm, OfNoRowsOrColumnsDoesNothing) {
  TestDevice device;
  EXPECT_THAT(device.Run(Op(ops::Gemm{.m = 0, .n = 3, .k = 2, .lda = 1, .ldb = 2, .ldc = 1})),
              IsOk());
  EXPECT_THAT(device.Run(Op(ops::Gemm{.m = 3, .n = 0, .k = 2, .lda = 3, .ldb = 2, .ldc = 3})),
              IsOk());
}

// One product of size n of which A, B and C hold one value each.
std::vector<float> Product(TestDevice& device, std::int64_t n, std::int64_t k, float a, float b,
                           float c, double alpha, double beta) {
  const std::vector<float> a_data(static_cast<std::size_t>(n * k), a);
  const std::vector<float> b_data(static_cast<std::size_t>(n * k), b);
  std::vector<float> c_data(static_cast<std::size_t>(n * n), c);
  EXPECT_THAT(device.Run(Op(ops::Gemm{.m = n,
                                      .n = n,
                                      .k = k,
                                      .alpha = alpha,
                                      .a = AddressOf(a_data),
                                      .lda = n,
                                      .b = AddressOf(b_data),
                                      .ldb = std::max<std::int64_t>(1, k),
                                      .beta = beta,
                                      .c = AddressOf(c_data),
                                      .ldc = n})),
              IsOk());
  return c_data;
}

class CpuGemmOfSize : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, CpuGemmOfSize, testing::Values(1, 5, 64, 510));

TEST_P(CpuGemmOfSize, WithBetaZeroDoesNotReadC) {
  TestDevice device;
  EXPECT_THAT(Product(device, GetParam(), 4, 1, 1, kNaN, 1, 0), testing::Each(4));
}

TEST_P(CpuGemmOfSize, WithAlphaZeroDoesNotReadAAndB) {
  TestDevice device;
  EXPECT_THAT(Product(device, GetParam(), 3, kNaN, kNaN, 2, 0, 3), testing::Each(6));
  EXPECT_THAT(Product(device, GetParam(), 3, kNaN, kNaN, kNaN, 0, 0), testing::Each(0));
}

TEST_P(CpuGemmOfSize, OverNoKScalesC) {
  TestDevice device;
  EXPECT_THAT(Product(device, GetParam(), 0, 1, 1, 2, 5, -0.5), testing::Each(-1));
  EXPECT_THAT(Product(device, GetParam(), 0, 1, 1, kNaN, 5, 0), testing::Each(0));
}

TEST_P(CpuGemmOfSize, SpreadsNaNOfItsFactors) {
  TestDevice device;
  EXPECT_THAT(Product(device, GetParam(), 4, kNaN, 0, 0, 1, 0), testing::Each(testing::IsNan()));
  EXPECT_THAT(Product(device, GetParam(), 4, 0, INFINITY, 0, 1, 0),
              testing::Each(testing::IsNan()));
  EXPECT_THAT(Product(device, GetParam(), 4, 1, 1, kNaN, 1, 1), testing::Each(testing::IsNan()));
}

TEST(CpuBatchedGemm, AgreesWithTheReference) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (int i = 0; i < 30; ++i) {
    ops::BatchedGemm op{.type = DataType::kF64,
                        .transpose_a = random.Pick(kTransposes),
                        .transpose_b = random.Pick(kTransposes)};
    op.m = random.Integer(1, 40);
    op.n = random.Integer(1, 40);
    op.k = random.Integer(0, 40);
    op.lda = op.ldb = 41;
    op.batch = random.Integer(0, 7);
    op.alpha = random.Pick({1.0, -0.5});
    op.beta = random.Pick({0.0, 2.0});
    op.stride_a = random.Pick<std::int64_t>({0, 41 * 40, 7});
    op.stride_b = random.Pick<std::int64_t>({0, 41 * 40});
    // The products' columns interleave: column j of product i lies at (j * batch + i) * m.
    op.ldc = op.m * std::max<std::int64_t>(1, op.batch);
    op.stride_c = op.m;
    const auto a = random.Vector<double>(8 * 41 * 40);
    const auto b = random.Vector<double>(8 * 41 * 40);
    auto c = random.Vector<double>(op.ldc * op.n);
    auto expected = c;
    op.a = AddressOf(a);
    op.b = AddressOf(b);
    op.c = AddressOf(c);
    ASSERT_THAT(device.Run(Op(op)), IsOk());
    op.c = AddressOf(expected);
    reference::Run(op);
    ExpectClose(c, expected, 1e-14, 1e-14);
  }
}

// A batch of `m` x `n` over `k` on data of its own, with gaps between columns. What C holds in
// them, and what is not read of it, is NaN.
template <typename T>
void ExpectSmallProductsLikeReference(Random& random, ops::BatchedGemm op) {
  TestDevice device;
  op.type = sizeof(T) == sizeof(double) ? DataType::kF64 : DataType::kF32;
  op.alpha = random.Pick({1.0, -0.5});
  op.beta = random.Pick({0.0, 1.0, 2.0});
  op.batch = 3;
  op.lda = std::max(op.m, op.k) + random.Integer(0, 1);
  op.ldb = std::max(op.n, op.k) + random.Integer(0, 1);
  op.ldc = op.m + random.Integer(0, 2);
  // Where all have the same A, it lies there once.
  op.stride_a = random.Pick<std::int64_t>({0, op.lda * std::max(op.m, op.k)});
  op.stride_b = op.ldb * std::max(op.n, op.k);
  op.stride_c = op.ldc * op.n;
  const auto a = random.Vector<T>(op.lda * std::max(op.m, op.k) + 2 * op.stride_a);
  const auto b = random.Vector<T>(op.batch * op.stride_b);
  auto c = random.Vector<T>(op.batch * op.stride_c);
  for (std::int64_t i = 0; i < op.batch * op.stride_c; ++i) {
    if (i % op.ldc >= op.m || op.beta == 0) c[static_cast<std::size_t>(i)] = kNaN;
  }
  op.a = AddressOf(a);
  op.b = AddressOf(b);
  const double tolerance = (sizeof(T) == sizeof(double) ? 1e-15 : 4e-7) * static_cast<double>(op.k);
  ExpectLikeReference(device, op, std::move(c), tolerance, tolerance);
}

// Rows around whole vectors, and numbers of columns around those of whole tiles.
template <typename T>
void ExpectSmallProductsLikeReference() {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const std::int64_t m : {1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 31, 32, 33, 48, 49, 64, 65, 81}) {
    for (const Transpose transpose_a : kTransposes) {
      for (const Transpose transpose_b : {Transpose::kNone, Transpose::kTranspose}) {
        const std::int64_t n = random.Integer(1, m < 5 ? 4 : 40);
        const std::int64_t k = random.Integer(1, 8) * (m < 5 ? 1 : 9);
        SCOPED_TRACE(testing::Message() << m << " x " << n << " over " << k);
        ExpectSmallProductsLikeReference<T>(
            random,
            {.transpose_a = transpose_a, .transpose_b = transpose_b, .m = m, .n = n, .k = k});
      }
    }
  }
}

TEST(CpuBatchedGemm, OfSmallProductsAgreesWithTheReference) {
  ExpectSmallProductsLikeReference<float>();
  ExpectSmallProductsLikeReference<double>();
}

TEST(CpuBatchedGemm, GivesTheSameBitsAtEachPlaceAndForEachNumberOfThreads) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const Transpose transpose_a : {Transpose::kNone, Transpose::kTranspose}) {
    for (const std::int64_t size : {11, 32, 41}) {
      const std::int64_t elements = size * size;
      ops::BatchedGemm op{.transpose_a = transpose_a, .m = size, .n = size, .k = size, .batch = 5};
      op.lda = op.ldb = op.ldc = size;
      op.stride_c = elements;
      const auto a = random.Vector(elements);
      const auto b = random.Vector(elements);
      op.a = AddressOf(a);
      op.b = AddressOf(b);
      std::vector<float> first;
      for (const int threads : {1, 2, 3}) {
        TestDevice device({.threads = threads, .memory_limit_bytes = 0});
        std::vector<float> c(static_cast<std::size_t>(5 * elements), kNaN);
        op.c = AddressOf(c);
        ASSERT_THAT(device.Run(Op(op)), IsOk());
        if (first.empty()) first.assign(c.begin(), c.begin() + elements);
        for (std::int64_t i = 0; i < 5; ++i) {
          EXPECT_TRUE(SameBits({c.begin() + i * elements, c.begin() + (i + 1) * elements}, first));
        }
      }
    }
  }
}

// Products of a batch, which one thread computes, and one by itself, which two do.
TEST(CpuBatchedGemm, OfLargerProductsAgreesWithTheReferenceAndChangesNoGemmBehindIt) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  constexpr std::int64_t kSize = 256;
  constexpr std::int64_t kElements = kSize * kSize;
  constexpr std::int64_t kBatch = 4;
  const auto a = random.Vector(kBatch * kElements);
  const auto b = random.Vector(kBatch * kElements);
  std::vector<float> c(static_cast<std::size_t>(kBatch * kElements), kNaN);
  auto expected = c;
  ops::BatchedGemm batch{.m = kSize, .n = kSize, .k = kSize, .batch = kBatch};
  batch.lda = batch.ldb = batch.ldc = kSize;
  batch.stride_a = batch.stride_b = batch.stride_c = kElements;
  batch.a = AddressOf(a);
  batch.b = AddressOf(b);
  batch.c = AddressOf(expected);
  reference::Run(batch);
  batch.c = AddressOf(c);
  ops::Gemm one{.m = kSize, .n = kSize, .k = kSize, .lda = kSize, .ldb = kSize, .ldc = kSize};
  std::vector<float> one_c(kElements);
  one.a = batch.a;
  one.b = batch.b;
  one.c = AddressOf(one_c);
  ASSERT_THAT(device.Run(Op(one)), IsOk());
  ExpectClose(one_c, {expected.begin(), expected.begin() + kElements}, 4e-7, 1e-4);
  const auto alone = one_c;
  for (int i = 0; i < 3; ++i) {
    c.assign(c.size(), kNaN);
    ASSERT_THAT(device.Run(Op(batch)), IsOk());
    ExpectClose(c, expected, 4e-7, 1e-4);
    one_c.assign(kElements, kNaN);
    ASSERT_THAT(device.Run(Op(one)), IsOk());
    EXPECT_TRUE(SameBits(one_c, alone));
  }
}

TEST(CpuBatchedGemm, WithAlphaZeroDoesNotReadAAndB) {
  TestDevice device;
  std::vector<float> c = {1, 2, 3};
  ops::BatchedGemm op{.m = 1, .n = 1, .k = 1, .alpha = 0};
  op.lda = op.ldb = op.ldc = 1;
  op.stride_a = op.stride_b = op.stride_c = 1;
  op.batch = 3;
  op.beta = -2;
  op.c = AddressOf(c);
  ASSERT_THAT(device.Run(Op(op)), IsOk());
  EXPECT_THAT(c, testing::ElementsAre(-2, -4, -6));
}

}  // namespace
}  // namespace acceld
