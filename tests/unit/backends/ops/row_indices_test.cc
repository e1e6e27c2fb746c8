// The checks of gather and scatter, which share them (row_indices.cc).
#include "backends/ops/row_indices.h"

#include <limits>
#include <vector>

#include "backends/ops/gather.h"
#include "backends/ops/scatter.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld::ops {
namespace {

constexpr std::int64_t kLimit = std::int64_t{1} << 31;
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMinInt64 = std::numeric_limits<std::int64_t>::min();

template <typename Op>
class RowOpTest : public ::testing::Test {};

using RowOps = ::testing::Types<Gather, Scatter>;
TYPED_TEST_SUITE(RowOpTest, RowOps);

TYPED_TEST(RowOpTest, IndicesAreBelowTheRows) {
  EXPECT_THAT((TypeParam{.rows = 5, .columns = 3, .indices = {0, 4, 4}}).Check(), IsOk());
  for (std::int64_t bad : {std::int64_t{-1}, std::int64_t{5}, kLimit, kMaxInt64, kMinInt64}) {
    EXPECT_THAT((TypeParam{.rows = 5, .columns = 3, .indices = {0, bad, 1}}).Check(),
                IsInvalid("Argument indices[1] of"));
  }
}

// Blocks are checked in another loop than what is left of them.
TYPED_TEST(RowOpTest, EachOfManyIndicesIsChecked) {
  TypeParam op{.rows = 5, .columns = 3, .indices = std::vector<std::int64_t>(150, 4)};
  EXPECT_THAT(op.Check(), IsOk());
  for (std::size_t i = 0; i < op.indices.size(); ++i) {
    for (std::int64_t bad : {std::int64_t{-1}, std::int64_t{5}, kLimit, kMaxInt64, kMinInt64}) {
      op.indices[i] = bad;
      EXPECT_THAT(op.Check(), IsInvalid(fmt::format("indices[{}] of", i)));
    }
    op.indices[i] = 0;
  }
}

TYPED_TEST(RowOpTest, IndicesAreCheckedWhereThereAreNoColumns) {
  EXPECT_THAT((TypeParam{.rows = 5, .columns = 0, .indices = {5}}).Check(),
              IsInvalid("is 5; it must be at least 0 and below 5"));
}

TYPED_TEST(RowOpTest, AnEmptyTableHasNoIndex) {
  EXPECT_THAT((TypeParam{.rows = 0, .columns = 3}).Check(), IsOk());
  EXPECT_THAT((TypeParam{.rows = 0, .columns = 3, .indices = {0}}).Check(), IsInvalid("indices"));
}

TYPED_TEST(RowOpTest, RowsAndColumnsAreDimensions) {
  for (std::int64_t bad : {std::int64_t{-1}, kLimit, 2 * kLimit, kMaxInt64}) {
    EXPECT_THAT((TypeParam{.rows = bad, .columns = 1}).Check(), IsInvalid("Argument rows of"));
    EXPECT_THAT((TypeParam{.rows = 1, .columns = bad}).Check(), IsInvalid("Argument columns of"));
  }
}

TYPED_TEST(RowOpTest, TheTableFitsInto2To62Bytes) {
  EXPECT_THAT((TypeParam{.rows = 1 << 30, .columns = 1 << 30}).Check(), IsOk());
  EXPECT_THAT((TypeParam{.rows = (1 << 30) + 1, .columns = 1 << 30}).Check(),
              IsInvalid("Argument table of"));
}

TEST(CheckRowIndicesTest, TheRowsNamedFitInto2To62Bytes) {
  // Never read: the size alone is refused.
  const std::int64_t index = 0;
  const absl::Span<const std::int64_t> many(&index, std::size_t{1} << 32);
  EXPECT_THAT(CheckRowIndices(1, kLimit - 1, many, "gather"),
              IsInvalid("at most 4611686018427387904 bytes"));
}

TEST(GatherTest, ReadsTheWholeTableAndWritesARowPerIndex) {
  Gather op{.rows = 5, .columns = 3, .indices = {0, 4}};
  const OperandList operands = op.Operands();
  EXPECT_EQ(operands[0].address, &op.table);
  EXPECT_EQ(operands[0].access, Access::kRead);
  EXPECT_TRUE(operands[0].ExtentBytes() == 60);
  EXPECT_EQ(operands[1].address, &op.output);
  EXPECT_EQ(operands[1].access, Access::kWrite);
  EXPECT_TRUE(operands[1].ExtentBytes() == 24);
}

TEST(ScatterTest, ReadsARowPerIndexAndKeepsTheRestOfTheTable) {
  Scatter op{.rows = 5, .columns = 3, .indices = {0, 4}};
  const OperandList operands = op.Operands();
  EXPECT_EQ(operands[0].address, &op.source);
  EXPECT_EQ(operands[0].access, Access::kRead);
  EXPECT_TRUE(operands[0].ExtentBytes() == 24);
  EXPECT_EQ(operands[1].address, &op.table);
  EXPECT_EQ(operands[1].access, Access::kReadWrite);
  EXPECT_TRUE(operands[1].ExtentBytes() == 60);
}

TEST(ScatterTest, WithoutIndicesNothingIsWritten) {
  Scatter op{.rows = 5, .columns = 3};
  for (const Operand& operand : op.Operands()) EXPECT_TRUE(operand.Empty());
}

}  // namespace
}  // namespace acceld::ops
