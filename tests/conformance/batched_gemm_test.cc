#include <algorithm>
#include <limits>
#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

constexpr Transpose kTransposes[] = {Transpose::kNone, Transpose::kTranspose,
                                     Transpose::kConjugateTranspose};

// `batch` products of [2, 2] matrices, one behind the other.
ops::BatchedGemm SmallBatch(std::int64_t batch) {
  return {.m = 2,
          .n = 2,
          .k = 2,
          .lda = 2,
          .stride_a = 4,
          .ldb = 2,
          .stride_b = 4,
          .ldc = 2,
          .stride_c = 4,
          .batch = batch};
}

template <typename T>
class BatchedGemmTest : public ConformanceTest {};

using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(BatchedGemmTest, ElementTypes);

TYPED_TEST(BatchedGemmTest, MatchesTheReferenceForAllTransposesSizesAndStrides) {
  using T = TypeParam;
  Random& random = this->random_;
  for (Transpose transpose_a : kTransposes) {
    for (Transpose transpose_b : kTransposes) {
      for (int i = 0; i < 3; ++i) {
        ops::BatchedGemm op{
            .type = kTypeOf<T>, .transpose_a = transpose_a, .transpose_b = transpose_b};
        op.m = random.Integer(1, 20);
        op.n = random.Integer(1, 20);
        op.k = random.Integer(1, 20);
        op.batch = random.Integer(1, 7);
        const bool a_as_is = transpose_a == Transpose::kNone;
        const bool b_as_is = transpose_b == Transpose::kNone;
        op.lda = (a_as_is ? op.m : op.k) + random.Integer(0, 3);
        op.ldb = (b_as_is ? op.k : op.n) + random.Integer(0, 3);
        op.ldc = op.m + random.Integer(0, 3);
        const std::int64_t size_a = op.lda * (a_as_is ? op.k : op.m);
        const std::int64_t size_b = op.ldb * (b_as_is ? op.n : op.k);
        const std::int64_t size_c = op.ldc * op.n;
        // A and B may be shared, overlap from product to product, or have gaps.
        op.stride_a = i == 0 ? 0 : random.Integer(1, size_a + 3);
        op.stride_b = i == 1 ? 0 : random.Integer(1, size_b + 3);
        op.stride_c = size_c + random.Integer(0, 3);
        op.alpha = random.Real(-2, 2);
        op.beta = i == 2 ? 0 : random.Real(-2, 2);
        const auto a = random.Vector<T>(size_a + op.stride_a * op.batch);
        const auto b = random.Vector<T>(size_b + op.stride_b * op.batch);
        auto c = random.Vector<T>(op.stride_c * op.batch);
        if (op.beta == 0) std::fill(c.begin(), c.end(), std::numeric_limits<T>::quiet_NaN());
        op.a = HostAddress(a);
        op.b = HostAddress(b);
        op.c = HostAddress(c);
        SCOPED_TRACE(testing::Message()
                     << Name(transpose_a) << Name(transpose_b) << " m " << op.m << " n " << op.n
                     << " k " << op.k << " batch " << op.batch << " strides " << op.stride_a << " "
                     << op.stride_b << " " << op.stride_c);
        this->RunBoth(op);
      }
    }
  }
}

// Sizes around which fast algorithms differ.
TYPED_TEST(BatchedGemmTest, MatchesTheReferenceForOddSizes) {
  using T = TypeParam;
  Random& random = this->random_;
  for (int i = 0; i < 10; ++i) {
    ops::BatchedGemm op{.type = kTypeOf<T>};
    op.m = random.OddLength(257);
    op.n = random.OddLength(std::min<std::int64_t>(257, 100'000 / op.m));
    op.k = random.OddLength(std::min<std::int64_t>(257, 1'000'000 / (op.m * op.n)));
    op.batch = random.OddLength(17);
    op.lda = op.ldc = op.m;
    op.ldb = op.k;
    op.stride_a = op.m * op.k;
    op.stride_b = op.k * op.n;
    op.stride_c = op.m * op.n;
    const auto a = random.Vector<T>(op.stride_a * op.batch);
    const auto b = random.Vector<T>(op.stride_b * op.batch);
    std::vector<T> c(static_cast<std::size_t>(op.stride_c * op.batch),
                     std::numeric_limits<T>::quiet_NaN());
    op.a = HostAddress(a);
    op.b = HostAddress(b);
    op.c = HostAddress(c);
    SCOPED_TRACE(testing::Message()
                 << "m " << op.m << " n " << op.n << " k " << op.k << " batch " << op.batch);
    this->RunBoth(op);
  }
}

// Products of rows that lie side by side in one column-major matrix.
TYPED_TEST(BatchedGemmTest, InterleavesProductsInMemory) {
  using T = TypeParam;
  const std::int64_t batch = 5;
  ops::BatchedGemm op{.type = kTypeOf<T>, .m = 3, .n = 4, .k = 2, .beta = 1, .batch = batch};
  op.lda = op.m * batch;
  op.stride_a = op.m;
  op.ldb = op.k;
  op.stride_b = op.k * op.n;
  op.ldc = op.m * batch;
  op.stride_c = op.m;
  const auto a = this->random_.template Vector<T>(op.lda * op.k);
  const auto b = this->random_.template Vector<T>(op.stride_b * batch);
  auto c = this->random_.template Vector<T>(op.ldc * op.n);
  op.a = HostAddress(a);
  op.b = HostAddress(b);
  op.c = HostAddress(c);
  this->RunBoth(op);
}

TYPED_TEST(BatchedGemmTest, RunsManySmallProducts) {
  using T = TypeParam;
  ops::BatchedGemm op = SmallBatch(3000);
  op.type = kTypeOf<T>;
  const auto a = this->random_.template Vector<T>(4 * op.batch);
  const auto b = this->random_.template Vector<T>(4 * op.batch);
  std::vector<T> c(4 * op.batch);
  op.a = HostAddress(a);
  op.b = HostAddress(b);
  op.c = HostAddress(c);
  this->RunBoth(op);
}

TYPED_TEST(BatchedGemmTest, CountsStridesInElementsOfItsType) {
  using T = TypeParam;
  const Address a = this->Upload(std::vector<T>{1, -1, 2, -1, 3});
  const Address b = this->Upload(std::vector<T>{10});
  const Address c = this->Upload(std::vector<T>(7, -5));
  ASSERT_TRUE(IsOk(this->backend().BatchedGemm({.type = kTypeOf<T>,
                                                .m = 1,
                                                .n = 1,
                                                .k = 1,
                                                .a = a,
                                                .lda = 1,
                                                .stride_a = 2,
                                                .b = b,
                                                .ldb = 1,
                                                .stride_b = 0,
                                                .c = c,
                                                .ldc = 1,
                                                .stride_c = 3,
                                                .batch = 3})));
  const std::vector<T> expected = {10, -5, -5, 20, -5, -5, 30};
  EXPECT_EQ(this->template Download<T>(c, 7), expected);
}

TYPED_TEST(BatchedGemmTest, KeepsANanInItsProduct) {
  using T = TypeParam;
  ops::BatchedGemm op = SmallBatch(4);
  op.type = kTypeOf<T>;
  auto a = this->random_.template Vector<T>(16);
  a[5] = std::numeric_limits<T>::quiet_NaN();
  const auto b = this->random_.template Vector<T>(16);
  std::vector<T> c(16);
  op.a = HostAddress(a);
  op.b = HostAddress(b);
  op.c = HostAddress(c);
  this->RunBoth(op);
}

TYPED_TEST(BatchedGemmTest, ScalesCWithAlphaZeroOrKZeroAndNeverLooksAtAAndB) {
  using T = TypeParam;
  for (const bool alpha_zero : {true, false}) {
    const Address c = this->Upload(std::vector<T>{1, 2, 3, 4, 5, 6, 7, 8});
    ops::BatchedGemm op = SmallBatch(2);
    op.type = kTypeOf<T>;
    op.k = alpha_zero ? 2 : 0;
    op.alpha = alpha_zero ? 0 : 1;
    op.beta = 0.5;
    op.a = kGarbage;
    op.b = 0;
    op.c = c;
    ASSERT_TRUE(IsOk(this->backend().BatchedGemm(op)));
    const std::vector<T> expected = {0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4};
    EXPECT_EQ(this->template Download<T>(c, 8), expected);
  }
}

using BatchedGemmArgumentsTest = ConformanceTest;

TEST_F(BatchedGemmArgumentsTest, IsANoOpWithoutElementsOfCAndLooksAtNoAddress) {
  for (std::int64_t ops::BatchedGemm::*size :
       {&ops::BatchedGemm::batch, &ops::BatchedGemm::m, &ops::BatchedGemm::n}) {
    ops::BatchedGemm op = SmallBatch(3);
    op.*size = 0;
    op.a = op.c = kGarbage;
    EXPECT_TRUE(IsOk(backend().BatchedGemm(op)));
  }
}

TEST_F(BatchedGemmArgumentsTest, RefusesProductsThatShareAnElementOfC) {
  const Address inputs = Alloc(4096);
  const Address c = Alloc(4096);
  const std::vector<float> before = random_.Floats(1024);
  Write(c, AsBytes(before));
  for (const std::int64_t stride : {0, 1, 2, 3}) {
    ops::BatchedGemm op = SmallBatch(2);
    op.a = op.b = inputs;
    op.c = c;
    op.stride_c = stride;
    EXPECT_TRUE(IsInvalidArgument(backend().BatchedGemm(op), {"batched_gemm", "c"})) << stride;
  }
  // Columns 3 apart leave room for one more row between them, not for two.
  ops::BatchedGemm op = SmallBatch(2);
  op.a = op.b = inputs;
  op.c = c;
  op.ldc = 3;
  op.stride_c = 2;
  EXPECT_TRUE(IsInvalidArgument(backend().BatchedGemm(op), {"batched_gemm", "c"}));
  EXPECT_TRUE(SameBits(Floats(c, 1024), before));
  op.ldc = 4;
  EXPECT_TRUE(IsOk(backend().BatchedGemm(op)));
  // The third product would begin in the second column of the first.
  op.batch = 3;
  EXPECT_TRUE(IsInvalidArgument(backend().BatchedGemm(op), {"batched_gemm", "c"}));
}

TEST_F(BatchedGemmArgumentsTest, AllowsAStrideOfZeroForASingleProduct) {
  ops::BatchedGemm op = SmallBatch(1);
  op.stride_a = op.stride_b = op.stride_c = 0;
  op.a = Alloc(16);
  op.b = Alloc(16);
  op.c = Alloc(16);
  EXPECT_TRUE(IsOk(backend().BatchedGemm(op)));
}

TEST_F(BatchedGemmArgumentsTest, RefusesAProductOfTheBatchThatOverlapsAnInput) {
  // C lies behind A, and A's third block reaches into it.
  const Address room = Alloc(4096);
  ops::BatchedGemm op = SmallBatch(3);
  op.a = room;
  op.b = Alloc(64);
  op.c = room + 8 * 4;
  EXPECT_TRUE(IsInvalidArgument(backend().BatchedGemm(op), {"batched_gemm", "a", "c"}));
  op.batch = 2;
  EXPECT_TRUE(IsOk(backend().BatchedGemm(op)));
}

TEST_F(BatchedGemmArgumentsTest, RefusesBadSizesAndStridesEvenWhereNothingIsDone) {
  struct Case {
    std::int64_t ops::BatchedGemm::*field;
    std::string_view name;
  };
  for (const Case& bad :
       {Case{&ops::BatchedGemm::m, "m"}, Case{&ops::BatchedGemm::n, "n"},
        Case{&ops::BatchedGemm::k, "k"}, Case{&ops::BatchedGemm::lda, "lda"},
        Case{&ops::BatchedGemm::ldb, "ldb"}, Case{&ops::BatchedGemm::ldc, "ldc"},
        Case{&ops::BatchedGemm::stride_a, "stride_a"},
        Case{&ops::BatchedGemm::stride_b, "stride_b"},
        Case{&ops::BatchedGemm::stride_c, "stride_c"}, Case{&ops::BatchedGemm::batch, "batch"}}) {
    for (const std::int64_t value :
         {std::int64_t{-1}, std::int64_t{1} << 31, std::numeric_limits<std::int64_t>::min()}) {
      ops::BatchedGemm op = SmallBatch(2);
      (bad.name == "n" ? op.m : op.n) = 0;
      op.*bad.field = value;
      EXPECT_TRUE(IsInvalidArgument(backend().BatchedGemm(op),
                                    {"batched_gemm", bad.name, std::to_string(value)}));
    }
  }
}

TEST_F(BatchedGemmArgumentsTest, RefusesUnknownEnums) {
  ops::BatchedGemm op = SmallBatch(0);
  op.type = static_cast<DataType>(77);
  EXPECT_TRUE(IsInvalidArgument(backend().BatchedGemm(op), {"batched_gemm", "type"}));
  op = SmallBatch(0);
  op.transpose_b = static_cast<Transpose>(0);
  EXPECT_TRUE(IsInvalidArgument(backend().BatchedGemm(op), {"batched_gemm", "transpose_b"}));
}

// (batch - 1) * stride * 8 exceeds 64 bits; none of it may be computed modulo 2^64.
TEST_F(BatchedGemmArgumentsTest, RefusesBatchesBeyondAnyAllocationWithoutOverflow) {
  const std::int64_t large = (std::int64_t{1} << 31) - 1;
  const Address room = Alloc(4096);
  ops::BatchedGemm op = SmallBatch(large);
  op.type = DataType::kF64;
  op.stride_a = op.stride_b = op.stride_c = large;
  op.a = op.b = op.c = room;
  EXPECT_TRUE(IsInvalidArgument(backend().BatchedGemm(op), {"batched_gemm"}));
  op = SmallBatch(large);
  op.stride_a = 0;
  op.stride_b = 0;
  op.a = op.b = Alloc(64);
  op.c = room;
  EXPECT_TRUE(IsInvalidArgument(backend().BatchedGemm(op), {"batched_gemm", "c"}));
}

}  // namespace
}  // namespace acceld::conformance
