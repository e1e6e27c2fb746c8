#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

using ScatterTest = ConformanceTest;

TEST_F(ScatterTest, MatchesTheReferenceOnRandomTables) {
  for (int i = 0; i < 12; ++i) {
    ops::Scatter op{
        .rows = random_.Integer(1, 300), .columns = random_.Integer(1, 70), .indices = {}};
    op.indices.resize(static_cast<std::size_t>(random_.Integer(1, 500)));
    for (std::int64_t& index : op.indices) index = random_.Integer(0, op.rows - 1);
    const auto source = random_.Floats(static_cast<std::int64_t>(op.indices.size()) * op.columns);
    auto table = random_.Floats(op.rows * op.columns);
    op.source = HostAddress(source);
    op.table = HostAddress(table);
    RunBoth(op);
  }
}

TEST_F(ScatterTest, MatchesTheReferenceOnRandomOddSizes) {
  for (int i = 0; i < 16; ++i) {
    ops::Scatter op{
        .rows = random_.OddLength(1021), .columns = random_.OddLength(127), .indices = {}};
    op.indices.resize(static_cast<std::size_t>(random_.OddLength(257)));
    for (std::int64_t& index : op.indices) index = random_.Integer(0, op.rows - 1);
    const auto source = random_.Floats(static_cast<std::int64_t>(op.indices.size()) * op.columns);
    auto table = random_.Floats(op.rows * op.columns);
    op.source = HostAddress(source);
    op.table = HostAddress(table);
    SCOPED_TRACE(testing::Message()
                 << op.indices.size() << " of " << op.rows << " x " << op.columns);
    RunBoth(op);
  }
}

TEST_F(ScatterTest, KeepsTheRowsThatNoIndexNames) {
  const Address table = Upload(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  const Address source = Upload(std::vector<float>{10, 20, 30, 40});
  ASSERT_TRUE(IsOk(backend().Scatter(
      {.rows = 4, .columns = 2, .indices = {3, 1}, .source = source, .table = table})));
  EXPECT_EQ(Floats(table, 8), (std::vector<float>{1, 2, 30, 40, 5, 6, 10, 20}));
}

TEST_F(ScatterTest, LetsTheLastOfARepeatedIndexWin) {
  const Address table = Alloc(8);
  const Address source = Upload(std::vector<float>{1, 2, 3, 4});
  ASSERT_TRUE(IsOk(backend().Scatter(
      {.rows = 2, .columns = 1, .indices = {0, 1, 0, 1}, .source = source, .table = table})));
  EXPECT_EQ(Floats(table, 2), (std::vector<float>{3, 4}));
}

// Where a device splits the work, too.
TEST_F(ScatterTest, LetsTheLastOfManyRepetitionsWin) {
  const std::int64_t count = 20000;
  const std::int64_t columns = 17;
  std::vector<float> values(static_cast<std::size_t>(count * columns));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / columns);
  const Address source = Upload(values);
  const Address table = Alloc(3 * columns * 4);
  for (int repetition = 0; repetition < 3; ++repetition) {
    ops::Scatter op{.rows = 3, .columns = columns, .indices = {}, .source = source, .table = table};
    for (std::int64_t i = 0; i < count; ++i) op.indices.push_back(i % 2 == 0 ? 2 : 0);
    ASSERT_TRUE(IsOk(backend().Scatter(op)));
    const std::vector<float> found = Floats(table, static_cast<std::size_t>(3 * columns));
    for (std::size_t i = 0; i < static_cast<std::size_t>(columns); ++i) {
      EXPECT_EQ(found[i], static_cast<float>(count - 1));
      EXPECT_EQ(found[static_cast<std::size_t>(columns) + i], 0);
      EXPECT_EQ(found[static_cast<std::size_t>(2 * columns) + i], static_cast<float>(count - 2));
    }
  }
}

TEST_F(ScatterTest, RefusesAnIndexOutOfRangeAndWritesNothing) {
  const Address source = Upload(random_.Floats(9));
  const std::vector<float> before = random_.Floats(12);
  const Address table = Upload(before);
  for (const std::int64_t bad :
       {std::int64_t{-1}, std::int64_t{4}, std::int64_t{1} << 32, std::int64_t{1} << 62,
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    for (const std::vector<std::int64_t>& indices :
         {std::vector<std::int64_t>{bad, 0, 1}, {0, bad, 1}, {0, 1, bad}}) {
      EXPECT_TRUE(IsInvalidArgument(
          backend().Scatter(
              {.rows = 4, .columns = 3, .indices = indices, .source = source, .table = table}),
          {"scatter", "indices", std::to_string(bad)}));
    }
  }
  EXPECT_TRUE(SameBits(Floats(table, 12), before));
}

TEST_F(ScatterTest, RefusesATableOrSourceBeyondItsAllocation) {
  const Address table = Alloc(4 * 3 * 4);
  const Address source = Alloc(2 * 3 * 4);
  EXPECT_TRUE(IsInvalidArgument(
      backend().Scatter(
          {.rows = 5, .columns = 3, .indices = {0, 1}, .source = source, .table = table}),
      {"scatter", "table"}));
  EXPECT_TRUE(IsInvalidArgument(
      backend().Scatter(
          {.rows = 4, .columns = 3, .indices = {0, 1, 2}, .source = source, .table = table}),
      {"scatter", "source"}));
}

TEST_F(ScatterTest, IsANoOpWithoutIndicesOrColumnsAndLooksAtNoAddress) {
  EXPECT_TRUE(IsOk(backend().Scatter({.rows = 4, .columns = 3, .indices = {}, .table = kGarbage})));
  EXPECT_TRUE(
      IsOk(backend().Scatter({.rows = 0, .columns = 3, .indices = {}, .source = kGarbage})));
  EXPECT_TRUE(IsOk(backend().Scatter({.rows = 4, .columns = 0, .indices = {1, 2}})));
}

TEST_F(ScatterTest, RefusesAnyIndexIntoATableWithoutRows) {
  EXPECT_TRUE(IsInvalidArgument(backend().Scatter({.rows = 0, .columns = 3, .indices = {0}}),
                                {"scatter", "indices"}));
}

TEST_F(ScatterTest, RefusesBadSizesEvenWhereNothingIsDone) {
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{1} << 31}) {
    EXPECT_TRUE(IsInvalidArgument(backend().Scatter({.rows = bad, .columns = 3, .indices = {}}),
                                  {"scatter", "rows", std::to_string(bad)}));
    EXPECT_TRUE(IsInvalidArgument(backend().Scatter({.rows = 3, .columns = bad, .indices = {}}),
                                  {"scatter", "columns", std::to_string(bad)}));
  }
}

}  // namespace
}  // namespace acceld::conformance
