#include "backends/ops/operand.h"

#include <random>
#include <set>
#include <string>

#include "fmt/format.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

constexpr std::int64_t kMaxDimension = (std::int64_t{1} << 31) - 1;

// An operand with an address of its own.
struct Placed {
  Placed(Address start, std::uint64_t row_bytes, std::uint64_t pitch_bytes, std::uint64_t rows,
         std::uint64_t stride = 0, std::uint64_t batches = 1)
      : address(start) {
    operand = {.name = "x",
               .address = &address,
               .row_bytes = row_bytes,
               .pitch_bytes = pitch_bytes,
               .rows = rows,
               .batch_stride_bytes = stride,
               .batches = batches};
  }
  Placed(const Placed& other) : address(other.address), operand(other.operand) {
    operand.address = &address;
  }

  std::string ToString() const {
    return fmt::format("{}: {} bytes, pitch {} x {}, stride {} x {}", address, operand.row_bytes,
                       operand.pitch_bytes, operand.rows, operand.batch_stride_bytes,
                       operand.batches);
  }

  Address address;
  Operand operand;
};

// Every byte of the operand, one by one. `shared` tells whether two of its blocks have one.
std::set<Address> BytesOf(const Operand& operand, bool* shared = nullptr) {
  std::set<Address> all;
  for (std::uint64_t batch = 0; batch < operand.batches; ++batch) {
    std::set<Address> block;
    for (std::uint64_t row = 0; row < operand.rows; ++row) {
      for (std::uint64_t byte = 0; byte < operand.row_bytes; ++byte) {
        block.insert(*operand.address + batch * operand.batch_stride_bytes +
                     row * operand.pitch_bytes + byte);
      }
    }
    for (Address address : block) {
      if (!all.insert(address).second && shared != nullptr) *shared = true;
    }
  }
  return all;
}

bool ShareAByte(const Operand& a, const Operand& b) {
  const std::set<Address> bytes = BytesOf(a);
  for (Address address : BytesOf(b)) {
    if (bytes.count(address) != 0) return true;
  }
  return false;
}

bool ExtentsIntersect(const Operand& a, const Operand& b) {
  return *a.address < *b.address + b.ExtentBytes() && *b.address < *a.address + a.ExtentBytes();
}

class RandomOperands {
 public:
  explicit RandomOperands(std::uint32_t seed) : random_(seed) {}

  std::uint64_t UpTo(std::uint64_t last) {
    return std::uniform_int_distribution<std::uint64_t>(0, last)(random_);
  }

  // An operand of this pitch; with a single row its pitch means nothing and may be anything.
  Placed WithPitch(std::uint64_t pitch, std::uint64_t max_row_bytes, std::uint64_t max_start,
                   std::uint64_t stride, std::uint64_t max_batches) {
    const std::uint64_t rows = 1 + UpTo(4);
    const std::uint64_t row_bytes =
        1 + UpTo(rows == 1 ? 2 * pitch : std::min(pitch, max_row_bytes) - 1);
    return Placed(UpTo(max_start), row_bytes, rows == 1 ? UpTo(3) : pitch, rows, stride,
                  1 + UpTo(max_batches - 1));
  }

 private:
  std::mt19937 random_;
};

TEST(OperandTest, ExtentEndsAtTheLastElement) {
  Address address = 0;
  // 3 columns of 4 doubles, 10 apart: (3 - 1) * 10 + 4 elements.
  EXPECT_TRUE(MatrixOperand("a", address, Access::kRead, 4, 3, 10, 8).ExtentBytes() == 24 * 8);
  EXPECT_TRUE(MatrixOperand("a", address, Access::kRead, 4, 3, 10, 8, 100, 5).ExtentBytes() ==
              424 * 8);
  EXPECT_TRUE(VectorOperand("a", address, Access::kRead, 7, 4).ExtentBytes() == 28);
}

TEST(OperandTest, ElementBytesLeaveOutTheGaps) {
  Address address = 0;
  EXPECT_TRUE(MatrixOperand("a", address, Access::kRead, 4, 3, 10, 8, 100, 5).ElementBytes() ==
              4 * 3 * 8 * 5);
}

TEST(OperandTest, IsDenseWithoutGapsBetweenRowsAndBlocks) {
  Address address = 0;
  const auto dense = [&](std::int64_t rows, std::int64_t columns, std::int64_t ld,
                         std::int64_t stride, std::int64_t batches) {
    return MatrixOperand("c", address, Access::kWrite, rows, columns, ld, 4, stride, batches)
        .Dense();
  };
  EXPECT_TRUE(dense(3, 5, 3, 0, 1));
  EXPECT_FALSE(dense(3, 5, 4, 0, 1));
  EXPECT_TRUE(dense(3, 1, 4, 0, 1));  // nothing follows the row
  EXPECT_TRUE(dense(3, 5, 3, 15, 2));
  EXPECT_FALSE(dense(3, 5, 3, 16, 2));
  EXPECT_FALSE(dense(3, 1, 4, 4, 2));
  // A block's rows between another one's.
  EXPECT_TRUE(dense(3, 5, 6, 3, 2));
  EXPECT_TRUE(VectorOperand("x", address, Access::kWrite, 7, 4).Dense());
}

TEST(OperandTest, AZeroMakesItEmpty) {
  Address address = 0;
  for (const Operand& operand : {
           MatrixOperand("a", address, Access::kRead, 0, 3, 10, 8),
           MatrixOperand("a", address, Access::kRead, 4, 0, 10, 8),
           MatrixOperand("a", address, Access::kRead, 4, 3, 10, 8, 100, 0),
           VectorOperand("a", address, Access::kRead, 0, 4),
       }) {
    EXPECT_TRUE(operand.Empty());
    EXPECT_TRUE(operand.ExtentBytes() == 0);
    EXPECT_TRUE(operand.ElementBytes() == 0);
  }
}

TEST(OperandTest, HugeExtentsDoNotWrap) {
  Address address = 0;
  const Operand operand = MatrixOperand("a", address, Access::kRead, kMaxDimension, kMaxDimension,
                                        kMaxDimension, 8, kMaxDimension, kMaxDimension);
  const WideBytes side = kMaxDimension;
  EXPECT_TRUE(operand.ExtentBytes() == 8 * ((side - 1) * side + (side - 1) * side + side));
  EXPECT_TRUE(operand.ElementBytes() == 8 * side * side * side);
}

TEST(OperandTest, AccessSaysWhatIsWritten) {
  Address address = 0;
  EXPECT_FALSE(VectorOperand("a", address, Access::kRead, 1, 4).Written());
  EXPECT_TRUE(VectorOperand("a", address, Access::kWrite, 1, 4).Written());
  EXPECT_TRUE(VectorOperand("a", address, Access::kReadWrite, 1, 4).Written());
}

TEST(OverlapTest, BlocksOfOneMatrixOverlapOnlyWhereTheyShareAnElement) {
  // A 100 x 100 matrix of bytes; blocks by first row, first column.
  const auto block = [](int row, int column, std::uint64_t rows, std::uint64_t columns) {
    return Placed(static_cast<Address>(1000 + row + column * 100), rows, 100, columns);
  };
  const Placed middle = block(40, 40, 20, 20);
  EXPECT_FALSE(Overlap(middle.operand, block(20, 40, 20, 20).operand));  // above
  EXPECT_FALSE(Overlap(middle.operand, block(60, 40, 20, 20).operand));  // below
  EXPECT_FALSE(Overlap(middle.operand, block(40, 20, 20, 20).operand));  // to the left
  EXPECT_FALSE(Overlap(middle.operand, block(40, 60, 20, 20).operand));  // to the right
  EXPECT_TRUE(Overlap(middle.operand, block(59, 59, 20, 20).operand));
  EXPECT_TRUE(Overlap(middle.operand, block(21, 21, 20, 20).operand));
  EXPECT_TRUE(Overlap(middle.operand, block(0, 0, 100, 100).operand));
  // Wraps around from the end of one column to the start of the next.
  EXPECT_TRUE(Overlap(block(90, 5, 10, 1).operand, Placed(1000 + 599, 5, 100, 1).operand));
}

TEST(OverlapTest, DifferentPitchesAreComparedByExtent) {
  const Placed a(0, 2, 10, 5);
  EXPECT_TRUE(Overlap(a.operand, Placed(4, 2, 20, 2).operand));
  EXPECT_FALSE(Overlap(a.operand, Placed(42, 2, 20, 2).operand));
  EXPECT_FALSE(Overlap(Placed(100, 2, 10, 5).operand, Placed(0, 20, 80, 2).operand));
}

TEST(OverlapTest, MatchesABitmapWherePitchesAreEqual) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  RandomOperands random(seed);
  int overlaps = 0;
  constexpr int kCases = 30000;
  for (int i = 0; i < kCases; ++i) {
    const std::uint64_t pitch = 1 + random.UpTo(15);
    const std::uint64_t stride_a = random.UpTo(40);
    const std::uint64_t stride_b = random.UpTo(1) == 0 ? stride_a : random.UpTo(40);
    const Placed a = random.WithPitch(pitch, 6, 60, stride_a, 4);
    const Placed b = random.WithPitch(pitch, 6, 60, stride_b, 4);
    const bool expected = ShareAByte(a.operand, b.operand);
    overlaps += expected;
    ASSERT_EQ(Overlap(a.operand, b.operand), expected) << a.ToString() << "; " << b.ToString();
    ASSERT_EQ(Overlap(b.operand, a.operand), expected) << a.ToString() << "; " << b.ToString();
  }
  EXPECT_GT(overlaps, kCases / 20);
  EXPECT_LT(overlaps, kCases * 19 / 20);
}

TEST(OverlapTest, MatchesABitmapForManyBatchesOfThinRows) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  RandomOperands random(seed);
  int overlaps = 0;
  constexpr int kCases = 600;
  for (int i = 0; i < kCases; ++i) {
    const std::uint64_t pitch = 30 + random.UpTo(1000);
    const std::uint64_t stride = 1 + random.UpTo(3000);
    const Placed a = random.WithPitch(pitch, 3, 3000, stride, 40);
    const Placed b = random.WithPitch(pitch, 3, 3000, stride, 40);
    const bool expected = ShareAByte(a.operand, b.operand);
    overlaps += expected;
    ASSERT_EQ(Overlap(a.operand, b.operand), expected) << a.ToString() << "; " << b.ToString();
  }
  EXPECT_GT(overlaps, kCases / 20);
  EXPECT_LT(overlaps, kCases * 19 / 20);
}

TEST(OverlapTest, NeverMissesAByteWherePitchesDiffer) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  RandomOperands random(seed);
  for (int i = 0; i < 20000; ++i) {
    const Placed a = random.WithPitch(1 + random.UpTo(15), 6, 60, random.UpTo(40), 4);
    const Placed b = random.WithPitch(1 + random.UpTo(15), 6, 60, random.UpTo(40), 4);
    const bool overlap = Overlap(a.operand, b.operand);
    if (ShareAByte(a.operand, b.operand)) {
      ASSERT_TRUE(overlap) << a.ToString() << "; " << b.ToString();
    }
    if (!ExtentsIntersect(a.operand, b.operand)) {
      ASSERT_FALSE(overlap) << a.ToString() << "; " << b.ToString();
    }
  }
}

TEST(OverlapTest, ManyBatchesOfDifferentStridesAreExactUpToTheLimit) {
  // Even and odd bytes.
  const auto even = [](std::uint64_t batches) { return Placed(0, 1, 1, 1, 2, batches); };
  const Placed odd(1, 1, 1, 1, 4, 2000);
  EXPECT_FALSE(Overlap(even(kMaxExactBatches).operand, odd.operand));
  EXPECT_FALSE(Overlap(odd.operand, even(kMaxExactBatches).operand));
  EXPECT_TRUE(Overlap(even(kMaxExactBatches + 1).operand, odd.operand));
}

TEST(OverlapTest, HugeSizesReturnAtOnce) {
  constexpr std::uint64_t kMany = kMaxDimension;
  // Elements of 8 bytes; rows of one element, kMany + 1 elements apart, and batches two elements
  // apart: they interleave without sharing anything.
  const Placed even(1 << 20, 8, 8 * (kMany + 1), kMany, 16, kMany / 2);
  const Placed odd((1 << 20) + 8, 8, 8 * (kMany + 1), kMany, 16, kMany / 2);
  EXPECT_FALSE(Overlap(even.operand, odd.operand));
  EXPECT_FALSE(OverlapsItself(even.operand));
  const Placed shifted((1 << 20) + 9, 8, 8 * (kMany + 1), kMany, 16, kMany / 2);
  EXPECT_TRUE(Overlap(even.operand, shifted.operand));
  // One element less between rows, and the last batch lands on the next row of the first.
  EXPECT_FALSE(OverlapsItself(Placed(0, 8, 8 * kMany, kMany, 8, kMany).operand));
  EXPECT_TRUE(OverlapsItself(Placed(0, 8, 8 * (kMany - 1), kMany, 8, kMany).operand));
}

TEST(OverlapsItselfTest, StrideZeroSharesEverything) {
  EXPECT_TRUE(OverlapsItself(Placed(0, 1, 1, 1, 0, 2).operand));
  EXPECT_FALSE(OverlapsItself(Placed(0, 1, 1, 1, 0, 1).operand));
}

TEST(OverlapsItselfTest, MatchesABitmap) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  RandomOperands random(seed);
  int overlaps = 0;
  constexpr int kCases = 8000;
  for (int i = 0; i < kCases; ++i) {
    const bool thin = random.UpTo(1) == 0;
    const Placed x = thin ? random.WithPitch(1 + random.UpTo(200), 2, 10, random.UpTo(300), 30)
                          : random.WithPitch(1 + random.UpTo(15), 6, 10, random.UpTo(40), 5);
    bool expected = false;
    BytesOf(x.operand, &expected);
    overlaps += expected;
    ASSERT_EQ(OverlapsItself(x.operand), expected) << x.ToString();
  }
  EXPECT_GT(overlaps, kCases / 20);
  EXPECT_LT(overlaps, kCases * 19 / 20);
}

}  // namespace
}  // namespace acceld
