#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

constexpr Transpose kTransposes[] = {Transpose::kNone, Transpose::kTranspose,
                                     Transpose::kConjugateTranspose};

// A valid op without addresses on an [m, k] x [k, n] product, stored without gaps.
ops::Gemm Dense(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.m = m,
          .n = n,
          .k = k,
          .lda = std::max<std::int64_t>(m, 1),
          .ldb = std::max<std::int64_t>(k, 1),
          .ldc = std::max<std::int64_t>(m, 1)};
}

template <typename T>
class GemmTest : public ConformanceTest {
 protected:
  // Random sizes, leading dimensions and scalars.
  void CompareRandomProduct(Transpose transpose_a, Transpose transpose_b, std::int64_t largest) {
    CompareProduct(transpose_a, transpose_b, random_.Integer(1, largest),
                   random_.Integer(1, largest), random_.Integer(1, largest));
  }

  // Random leading dimensions and scalars.
  void CompareProduct(Transpose transpose_a, Transpose transpose_b, std::int64_t m, std::int64_t n,
                      std::int64_t k) {
    ops::Gemm op{.type = kTypeOf<T>,
                 .transpose_a = transpose_a,
                 .transpose_b = transpose_b,
                 .m = m,
                 .n = n,
                 .k = k};
    const bool a_as_is = transpose_a == Transpose::kNone;
    const bool b_as_is = transpose_b == Transpose::kNone;
    op.lda = (a_as_is ? op.m : op.k) + random_.Integer(0, 5);
    op.ldb = (b_as_is ? op.k : op.n) + random_.Integer(0, 5);
    op.ldc = op.m + random_.Integer(0, 5);
    const double scalars[] = {0, 1, -1, random_.Real(-2, 2)};
    op.alpha = scalars[random_.Integer(1, 3)];
    op.beta = scalars[random_.Integer(0, 3)];
    const auto a = random_.Vector<T>(op.lda * (a_as_is ? op.k : op.m));
    const auto b = random_.Vector<T>(op.ldb * (b_as_is ? op.n : op.k));
    auto c = random_.Vector<T>(op.ldc * op.n);
    // With beta 0 nothing of C may be read.
    if (op.beta == 0) std::fill(c.begin(), c.end(), std::numeric_limits<T>::quiet_NaN());
    op.a = HostAddress(a);
    op.b = HostAddress(b);
    op.c = HostAddress(c);
    SCOPED_TRACE(testing::Message()
                 << Name(transpose_a) << Name(transpose_b) << " m " << op.m << " n " << op.n
                 << " k " << op.k << " lda " << op.lda << " ldb " << op.ldb << " ldc " << op.ldc
                 << " alpha " << op.alpha << " beta " << op.beta);
    RunBoth(op);
  }
};

using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(GemmTest, ElementTypes);

TYPED_TEST(GemmTest, MatchesTheReferenceForAllTransposesSizesAndLeadingDimensions) {
  for (Transpose transpose_a : kTransposes) {
    for (Transpose transpose_b : kTransposes) {
      for (int i = 0; i < 6; ++i) this->CompareRandomProduct(transpose_a, transpose_b, 70);
      this->CompareRandomProduct(transpose_a, transpose_b, 4);
    }
  }
}

TYPED_TEST(GemmTest, MatchesTheReferenceForLargerProducts) {
  for (Transpose transpose_a : kTransposes) {
    this->CompareRandomProduct(transpose_a, Transpose::kNone, 300);
    this->CompareRandomProduct(transpose_a, Transpose::kTranspose, 300);
  }
}

TYPED_TEST(GemmTest, MatchesTheReferenceForRowsColumnsAndDotProducts) {
  using T = TypeParam;
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1000},
                                {1, 200, 50},
                                {200, 1, 50},
                                {150, 60, 1},
                                {1, 1, 1}}) {
    ops::Gemm op = Dense(m, n, k);
    op.type = kTypeOf<T>;
    const auto a = this->random_.template Vector<T>(m * k);
    const auto b = this->random_.template Vector<T>(k * n);
    auto c = this->random_.template Vector<T>(m * n);
    op.a = HostAddress(a);
    op.b = HostAddress(b);
    op.c = HostAddress(c);
    this->RunBoth(op);
  }
}

// Devices have ways of their own for these, each from some size on.
TYPED_TEST(GemmTest, MatchesTheReferenceForOddShapes) {
  Random& random = this->random_;
  for (Transpose transpose_a : {Transpose::kNone, Transpose::kTranspose}) {
    for (Transpose transpose_b : {Transpose::kNone, Transpose::kTranspose}) {
      const std::int64_t few = random.Integer(2, 9);
      const std::int64_t many = random.Integer(500, 700);
      const std::int64_t depth = 1'100'000 / (few * many);
      this->CompareProduct(transpose_a, transpose_b, few, many, depth);
      this->CompareProduct(transpose_a, transpose_b, many, few, depth);
      this->CompareProduct(transpose_a, transpose_b, few, few, many);
      this->CompareProduct(transpose_a, transpose_b, 1, 1, many);
    }
  }
  const std::int64_t large = random.Integer(1000, 1100);
  this->CompareProduct(Transpose::kTranspose, Transpose::kNone, large, 1, large);
  this->CompareProduct(Transpose::kNone, Transpose::kNone, 1, large, large);
}

TYPED_TEST(GemmTest, SupportsLeadingDimensionsFarAboveTheRows) {
  using T = TypeParam;
  ops::Gemm op = Dense(3, 5, 4);
  op.type = kTypeOf<T>;
  op.beta = 0.5;
  op.lda = op.ldb = op.ldc = 4096;
  const auto a = this->random_.template Vector<T>(op.lda * 3 + 3);
  const auto b = this->random_.template Vector<T>(op.ldb * 4 + 4);
  auto c = this->random_.template Vector<T>(op.ldc * 4 + 3);
  op.a = HostAddress(a);
  op.b = HostAddress(b);
  op.c = HostAddress(c);
  this->RunBoth(op);
}

TYPED_TEST(GemmTest, NeverWritesBetweenRowsAndLeadingDimension) {
  using T = TypeParam;
  // [2, 3] in a leading dimension of 5.
  const T gap = std::numeric_limits<T>::quiet_NaN();
  const Address a = this->Upload(std::vector<T>{1, 2});
  const Address b = this->Upload(std::vector<T>{1, 10, 100});
  const std::vector<T> before(15, gap);
  const Address c = this->Upload(before);
  ops::Gemm op = Dense(2, 3, 1);
  op.type = kTypeOf<T>;
  op.ldc = 5;
  op.a = a;
  op.b = b;
  op.c = c;
  ASSERT_TRUE(IsOk(this->backend().Gemm(op)));
  const std::vector<T> expected = {1,   2,   gap, gap, gap, 10,  20, gap,
                                   gap, gap, 100, 200, gap, gap, gap};
  EXPECT_TRUE(SameBits(this->template Download<T>(c, 15), expected));
}

TYPED_TEST(GemmTest, DoesNotReadCWithBetaZero) {
  using T = TypeParam;
  const Address a = this->Upload(std::vector<T>{2});
  const Address b = this->Upload(std::vector<T>{3});
  for (const T old : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    for (const double beta : {0.0, -0.0}) {
      const Address c = this->Upload(std::vector<T>{old});
      ops::Gemm op = Dense(1, 1, 1);
      op.type = kTypeOf<T>;
      op.a = a;
      op.b = b;
      op.beta = beta;
      op.c = c;
      ASSERT_TRUE(IsOk(this->backend().Gemm(op)));
      EXPECT_EQ(this->template Download<T>(c, 1)[0], 6);
    }
  }
}

TYPED_TEST(GemmTest, SpreadsANanInCWithBetaOtherThanZero) {
  using T = TypeParam;
  const std::vector<T> ones(16, 1);
  std::vector<T> c = ones;
  c[5] = std::numeric_limits<T>::quiet_NaN();
  ops::Gemm op = Dense(4, 4, 4);
  op.type = kTypeOf<T>;
  op.beta = 1e-3;
  op.a = op.b = HostAddress(ones);
  op.c = HostAddress(c);
  this->RunBoth(op);
  EXPECT_TRUE(std::isnan(c[5]));
}

TYPED_TEST(GemmTest, ScalesCWithAlphaZeroOrKZeroAndNeverLooksAtAAndB) {
  using T = TypeParam;
  for (const bool alpha_zero : {true, false}) {
    for (const double beta : {0.0, 1.0, -0.5}) {
      const std::vector<T> old = {1, 2, 3, 4, 5, 6};
      const Address c = this->Upload(old);
      ops::Gemm op = Dense(2, 2, alpha_zero ? 3 : 0);
      op.type = kTypeOf<T>;
      op.alpha = alpha_zero ? 0 : 7;
      op.beta = beta;
      op.a = kGarbage;
      op.b = 0;
      op.c = c;
      op.ldc = 3;
      ASSERT_TRUE(IsOk(this->backend().Gemm(op)));
      const T s = static_cast<T>(beta);
      const std::vector<T> expected = {s * 1, s * 2, 3, s * 4, s * 5, 6};
      EXPECT_EQ(this->template Download<T>(c, 6), expected) << "beta " << beta;
    }
  }
}

TYPED_TEST(GemmTest, ClearsANanInCWithAlphaAndBetaZero) {
  using T = TypeParam;
  const Address c = this->Upload(std::vector<T>(4, std::numeric_limits<T>::quiet_NaN()));
  ops::Gemm op = Dense(2, 2, 2);
  op.type = kTypeOf<T>;
  op.alpha = 0;
  op.c = c;
  ASSERT_TRUE(IsOk(this->backend().Gemm(op)));
  EXPECT_EQ(this->template Download<T>(c, 4), std::vector<T>(4, 0));
}

TYPED_TEST(GemmTest, DoesNotSpreadANanInAOrBWithAlphaZero) {
  using T = TypeParam;
  const Address nan = this->Upload(std::vector<T>(4, std::numeric_limits<T>::quiet_NaN()));
  const Address c = this->Upload(std::vector<T>(4, 8));
  ops::Gemm op = Dense(2, 2, 2);
  op.type = kTypeOf<T>;
  op.alpha = 0;
  op.beta = 0.25;
  op.a = op.b = nan;
  op.c = c;
  ASSERT_TRUE(IsOk(this->backend().Gemm(op)));
  EXPECT_EQ(this->template Download<T>(c, 4), std::vector<T>(4, 2));
}

// IEEE 754: 0 times NaN or infinity is NaN, so zeros may not be skipped.
TYPED_TEST(GemmTest, MultipliesZerosWithNanAndInfinity) {
  using T = TypeParam;
  const Address zeros = this->Upload(std::vector<T>(64, 0));
  for (const T special :
       {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    const Address specials = this->Upload(std::vector<T>(64, special));
    for (const bool special_a : {true, false}) {
      const Address c = this->Alloc(64 * sizeof(T));
      ops::Gemm op = Dense(8, 8, 8);
      op.type = kTypeOf<T>;
      op.a = special_a ? specials : zeros;
      op.b = special_a ? zeros : specials;
      op.c = c;
      ASSERT_TRUE(IsOk(this->backend().Gemm(op)));
      for (const T value : this->template Download<T>(c, 64)) EXPECT_TRUE(std::isnan(value));
    }
  }
}

TYPED_TEST(GemmTest, KeepsANanOfAInItsRowAndOneOfBInItsColumn) {
  using T = TypeParam;
  const std::int64_t n = 37;
  auto a = this->random_.template Vector<T>(n * n);
  auto b = this->random_.template Vector<T>(n * n);
  a[5 + 11 * n] = std::numeric_limits<T>::quiet_NaN();
  b[3 + 20 * n] = std::numeric_limits<T>::infinity();
  std::vector<T> c(n * n);
  ops::Gemm op = Dense(n, n, n);
  op.type = kTypeOf<T>;
  op.a = HostAddress(a);
  op.b = HostAddress(b);
  op.c = HostAddress(c);
  this->RunBoth(op);
  EXPECT_EQ(std::count_if(c.begin(), c.end(), [](T x) { return std::isnan(x); }), n);
}

TYPED_TEST(GemmTest, TakesTheSameMatrixAsAAndB) {
  using T = TypeParam;
  const auto a = this->random_.template Vector<T>(9 * 9);
  std::vector<T> c(9 * 9);
  ops::Gemm op = Dense(9, 9, 9);
  op.type = kTypeOf<T>;
  op.transpose_b = Transpose::kTranspose;
  op.a = op.b = HostAddress(a);
  op.c = HostAddress(c);
  this->RunBoth(op);
}

TYPED_TEST(GemmTest, IsANoOpWithoutElementsOfCAndLooksAtNoAddress) {
  for (const auto& [m, n] :
       {std::array<std::int64_t, 2>{0, 3}, std::array<std::int64_t, 2>{3, 0}, {0, 0}}) {
    ops::Gemm op = Dense(m, n, 4);
    op.type = kTypeOf<TypeParam>;
    op.ldb = 4;
    op.a = kGarbage;
    op.c = ~Address{0};
    EXPECT_TRUE(IsOk(this->backend().Gemm(op))) << m << " x " << n;
  }
}

TYPED_TEST(GemmTest, UsesTheFullPrecisionOfItsType) {
  using T = TypeParam;
  const T epsilon = std::numeric_limits<T>::epsilon();
  const Address a = this->Upload(std::vector<T>{1, epsilon});
  const Address b = this->Upload(std::vector<T>{1, 1});
  const Address c = this->Alloc(sizeof(T));
  ops::Gemm op = Dense(1, 1, 2);
  op.type = kTypeOf<T>;
  op.a = a;
  op.b = b;
  op.c = c;
  ASSERT_TRUE(IsOk(this->backend().Gemm(op)));
  EXPECT_EQ(this->template Download<T>(c, 1)[0], 1 + epsilon);
}

// The blocks of one matrix, of equal pitch, interleave in memory without sharing an element.
TYPED_TEST(GemmTest, WorksOnInterleavedBlocksOfOneMatrix) {
  using T = TypeParam;
  const std::int64_t ld = 12;
  const auto matrix = this->random_.template Vector<T>(ld * ld);
  const Address device = this->Upload(matrix);
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return device + static_cast<std::uint64_t>(row + column * ld) * sizeof(T);
  };
  // A: rows 0-3, B: rows 4-7, C: rows 8-11, all of columns 0-3 (and C up to column 5).
  ops::Gemm op{.type = kTypeOf<T>,
               .transpose_b = Transpose::kTranspose,
               .m = 4,
               .n = 4,
               .k = 4,
               .a = at(0, 0),
               .lda = ld,
               .b = at(4, 0),
               .ldb = ld,
               .beta = 1,
               .c = at(8, 0),
               .ldc = ld};
  ASSERT_TRUE(IsOk(this->backend().Gemm(op)));

  std::vector<T> expected = matrix;
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 4; ++i) {
      long double sum = matrix[8 + i + j * ld];
      for (int p = 0; p < 4; ++p) {
        sum += static_cast<long double>(matrix[i + p * ld]) * matrix[4 + j + p * ld];
      }
      expected[8 + i + j * ld] = static_cast<T>(sum);
    }
  }
  const std::vector<T> found = this->template Download<T>(device, ld * ld);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 8 * std::numeric_limits<T>::epsilon()) << i;
  }

  // One row higher, C shares row 7 with B.
  op.c = at(7, 0);
  EXPECT_TRUE(IsInvalidArgument(this->backend().Gemm(op), {"gemm", "b", "c"}));
  EXPECT_TRUE(SameBits(this->template Download<T>(device, ld * ld), found));
}

TYPED_TEST(GemmTest, RefusesAMatrixWhoseLastColumnLeavesItsAllocation) {
  using T = TypeParam;
  const Address ok = this->Alloc(64 * sizeof(T));
  const Address c = this->Alloc(((4 - 1) * 7 + 3) * sizeof(T));
  ops::Gemm op = Dense(3, 4, 2);
  op.type = kTypeOf<T>;
  op.a = op.b = ok;
  op.c = c;
  op.ldc = 7;
  EXPECT_TRUE(IsOk(this->backend().Gemm(op)));
  op.ldc = 8;
  EXPECT_TRUE(IsInvalidArgument(this->backend().Gemm(op), {"gemm", "c"}));
}

using GemmArgumentsTest = ConformanceTest;

// Refuses each op that `change` makes of a valid one, whatever else would excuse it.
TEST_F(GemmArgumentsTest, RefusesBadSizesAndLeadingDimensionsEvenWhereNothingIsDone) {
  const auto matrix = random_.Floats(64);
  const Address a = Upload(matrix);
  const Address b = Upload(matrix);
  const Address c = Upload(matrix);
  const std::int64_t limit = std::int64_t{1} << 31;
  struct Case {
    std::int64_t ops::Gemm::*field;
    std::int64_t value;
    std::string_view name;
  };
  std::vector<Case> cases;
  for (const std::int64_t bad : {std::int64_t{-1}, limit, std::numeric_limits<std::int64_t>::min(),
                                 std::numeric_limits<std::int64_t>::max()}) {
    cases.push_back({&ops::Gemm::m, bad, "m"});
    cases.push_back({&ops::Gemm::n, bad, "n"});
    cases.push_back({&ops::Gemm::k, bad, "k"});
    cases.push_back({&ops::Gemm::lda, bad, "lda"});
    cases.push_back({&ops::Gemm::ldb, bad, "ldb"});
    cases.push_back({&ops::Gemm::ldc, bad, "ldc"});
  }
  for (const std::int64_t bad : {0, 3}) cases.push_back({&ops::Gemm::lda, bad, "lda"});
  for (const std::int64_t bad : {0, 1}) cases.push_back({&ops::Gemm::ldb, bad, "ldb"});
  for (const std::int64_t bad : {0, 3}) cases.push_back({&ops::Gemm::ldc, bad, "ldc"});
  for (const Case& bad : cases) {
    for (const double alpha : {1.0, 0.0}) {
      ops::Gemm op = Dense(4, 3, 2);
      op.alpha = alpha;
      op.a = a;
      op.b = b;
      op.c = c;
      op.*bad.field = bad.value;
      EXPECT_TRUE(
          IsInvalidArgument(backend().Gemm(op), {"gemm", bad.name, std::to_string(bad.value)}));
    }
  }
  EXPECT_TRUE(SameBits(Floats(c, 64), matrix));
}

TEST_F(GemmArgumentsTest, NeedsALeadingDimensionOfOneForMatricesWithoutRows) {
  ops::Gemm op = Dense(0, 0, 0);
  EXPECT_TRUE(IsOk(backend().Gemm(op)));
  for (std::int64_t ops::Gemm::*field : {&ops::Gemm::lda, &ops::Gemm::ldb, &ops::Gemm::ldc}) {
    ops::Gemm bad = op;
    bad.*field = 0;
    EXPECT_TRUE(IsInvalidArgument(backend().Gemm(bad), {"gemm"}));
  }
}

TEST_F(GemmArgumentsTest, ChecksTheStoredRowsOfTransposedMatrices) {
  const Address room = Alloc(1024);
  const Address c = Alloc(1024);
  ops::Gemm op = Dense(6, 5, 2);
  op.a = op.b = room;
  op.c = c;
  op.transpose_a = Transpose::kTranspose;
  op.transpose_b = Transpose::kConjugateTranspose;
  op.lda = 2;
  op.ldb = 5;
  EXPECT_TRUE(IsOk(backend().Gemm(op)));
  op.lda = 1;
  EXPECT_TRUE(IsInvalidArgument(backend().Gemm(op), {"gemm", "lda", "1", "2"}));
  op.lda = 2;
  op.ldb = 4;
  EXPECT_TRUE(IsInvalidArgument(backend().Gemm(op), {"gemm", "ldb", "4", "5"}));
}

TEST_F(GemmArgumentsTest, RefusesUnknownEnums) {
  for (const int number : {0, 4, 99, 255}) {
    ops::Gemm op = Dense(0, 1, 1);
    op.type = static_cast<DataType>(number);
    EXPECT_TRUE(IsInvalidArgument(backend().Gemm(op), {"gemm", "type"}));
    op = Dense(0, 1, 1);
    op.transpose_a = static_cast<Transpose>(number);
    EXPECT_TRUE(IsInvalidArgument(backend().Gemm(op), {"gemm", "transpose_a"}));
    op = Dense(0, 1, 1);
    op.transpose_b = static_cast<Transpose>(number);
    EXPECT_TRUE(IsInvalidArgument(backend().Gemm(op), {"gemm", "transpose_b"}));
  }
}

// rows * columns * 8 exceeds 64 bits; none of it may be computed modulo 2^64.
TEST_F(GemmArgumentsTest, RefusesMatricesBeyondAnyAllocationWithoutOverflow) {
  const std::int64_t large = (std::int64_t{1} << 31) - 1;
  const Address room = Alloc(4096);
  ops::Gemm op = Dense(large, large, large);
  op.type = DataType::kF64;
  op.a = op.b = op.c = room;
  EXPECT_TRUE(IsInvalidArgument(backend().Gemm(op), {"gemm"}));
  // Few elements, far apart.
  op = Dense(1, 2, 1);
  op.a = op.b = Alloc(64);
  op.c = room;
  op.ldc = large;
  EXPECT_TRUE(IsInvalidArgument(backend().Gemm(op), {"gemm", "c"}));
}

}  // namespace
}  // namespace acceld::conformance
