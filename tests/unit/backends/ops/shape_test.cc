#include "backends/ops/shape.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

constexpr std::int64_t kMaxDimension = kDimensionLimit - 1;
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

absl::Status CheckF32(const Shape& shape) { return CheckShape(shape, 4, "softmax", "shape"); }

TEST(ShapeTest, ProductsAreOfTheNamedDimensions) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.rank(), 3u);
  EXPECT_EQ(shape.ElementCount(), 30);
  EXPECT_EQ(shape.Product(1, 3), 15);
  EXPECT_EQ(shape.Product(0, 0), 1);
  EXPECT_EQ(shape.Product(3, 3), 1);
  EXPECT_EQ(Shape{}.ElementCount(), 1);
}

TEST(ShapeTest, AZeroMakesTheCountZeroWhateverTheOthersAre) {
  const Shape shape{kMaxDimension, kMaxDimension, kMaxDimension, 0};
  EXPECT_THAT(CheckF32(shape), IsOk());
  EXPECT_EQ(shape.ElementCount(), 0);
  EXPECT_EQ(shape.Product(0, 3), kMaxInt64);
}

TEST(ShapeTest, ToStringIsAList) {
  EXPECT_EQ(Shape({2, 3}).ToString(), "[2, 3]");
  EXPECT_EQ(Shape{}.ToString(), "[]");
  EXPECT_EQ(Shape({1, 2, 3, 4, 5, 6, 7, 8, 9}).ToString(), "[1, 2, 3, 4, 5, 6, 7, 8, …]");
}

TEST(ShapeTest, EqualityComparesRankAndDimensions) {
  EXPECT_EQ(Shape({2, 3}), Shape({2, 3}));
  EXPECT_NE(Shape({2, 3}), Shape({2, 3, 0}));
  EXPECT_NE(Shape({2, 3}), Shape({3, 2}));
}

TEST(CheckShapeTest, RanksAre1To8) {
  EXPECT_THAT(CheckF32(Shape{}), IsInvalid("has rank 0; it must be 1 to 8"));
  EXPECT_THAT(CheckF32(Shape{1}), IsOk());
  EXPECT_THAT(CheckF32(Shape{1, 1, 1, 1, 1, 1, 1, 1}), IsOk());
  EXPECT_THAT(CheckF32(Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), IsInvalid("has rank 9"));
  const std::vector<std::int64_t> many(100000, 1);
  EXPECT_THAT(CheckF32(Shape(absl::MakeConstSpan(many))), IsInvalid("has rank 100000"));
}

TEST(CheckShapeTest, DimensionsAreBelow2To31AndNotNegative) {
  EXPECT_THAT(CheckF32(Shape{0, kMaxDimension}), IsOk());
  for (std::int64_t bad : {std::int64_t{-1}, kDimensionLimit, kDimensionLimit * 2, kMaxInt64}) {
    EXPECT_THAT(CheckF32(Shape{0, bad}), IsInvalid("below 2147483648"));
  }
}

TEST(CheckShapeTest, ElementsFitInto2To62Bytes) {
  const std::int64_t two_to_30 = std::int64_t{1} << 30;
  EXPECT_THAT(CheckF32(Shape{two_to_30, two_to_30}), IsOk());
  EXPECT_THAT(CheckF32(Shape{two_to_30, two_to_30 + 1}), IsInvalid("Argument shape of softmax"));
  EXPECT_THAT(CheckShape(Shape{two_to_30, two_to_30}, 8, "gemm", "a"), IsInvalid("of 8 bytes"));
  EXPECT_THAT(CheckF32(Shape{kMaxDimension, kMaxDimension, kMaxDimension, kMaxDimension,
                             kMaxDimension, kMaxDimension, kMaxDimension, kMaxDimension}),
              IsInvalid("at most 4611686018427387904 bytes"));
}

TEST(CheckDimensionTest, IsFromTheMinimumToBelow2To31) {
  EXPECT_THAT(CheckDimension(3, 3, "gemm", "lda"), IsOk());
  EXPECT_THAT(CheckDimension(kMaxDimension, 3, "gemm", "lda"), IsOk());
  EXPECT_THAT(CheckDimension(2, 3, "gemm", "lda"),
              IsInvalid("Argument lda of gemm is 2; it must be at least 3 and below 2147483648."));
  for (std::int64_t bad : {kDimensionLimit, kDimensionLimit * 2, kMaxInt64}) {
    EXPECT_THAT(CheckDimension(bad, 3, "gemm", "lda"), IsInvalid("lda"));
  }
}

TEST(CheckAxisTest, IsBelowTheRank) {
  const Shape shape{2, 3};
  EXPECT_THAT(CheckAxis(0, shape, "softmax"), IsOk());
  EXPECT_THAT(CheckAxis(1, shape, "softmax"), IsOk());
  EXPECT_THAT(CheckAxis(2, shape, "softmax"),
              IsInvalid("Argument axis of softmax is 2; it must be at least 0 and below 2"));
  EXPECT_THAT(CheckAxis(-1, shape, "softmax"), IsInvalid("axis of softmax is -1"));
  EXPECT_THAT(CheckAxis(kMaxInt64, shape, "softmax"), IsInvalid("axis"));
}

TEST(CheckElementCountTest, BytesAreAtMost2To62) {
  const std::int64_t two_to_60 = std::int64_t{1} << 60;
  EXPECT_THAT(CheckElementCount(0, 4, "unary", "n"), IsOk());
  EXPECT_THAT(CheckElementCount(two_to_60, 4, "unary", "n"), IsOk());
  EXPECT_THAT(CheckElementCount(two_to_60 + 1, 4, "unary", "n"), IsInvalid("Argument n of unary"));
  EXPECT_THAT(CheckElementCount(kMaxInt64, 4, "unary", "n"), IsInvalid("Argument n of unary"));
  EXPECT_THAT(CheckElementCount(-1, 4, "unary", "n"), IsInvalid("is -1; it must not be negative"));
}

}  // namespace
}  // namespace acceld
