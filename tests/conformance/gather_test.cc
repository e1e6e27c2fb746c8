#include <numeric>
#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

using GatherTest = ConformanceTest;

TEST_F(GatherTest, MatchesTheReferenceOnRandomTables) {
  for (int i = 0; i < 12; ++i) {
    ops::Gather op{
        .rows = random_.Integer(1, 300), .columns = random_.Integer(1, 70), .indices = {}};
    op.indices.resize(static_cast<std::size_t>(random_.Integer(1, 500)));
    for (std::int64_t& index : op.indices) index = random_.Integer(0, op.rows - 1);
    const auto table = random_.Floats(op.rows * op.columns);
    std::vector<float> output(op.indices.size() * static_cast<std::size_t>(op.columns), kNan);
    op.table = HostAddress(table);
    op.output = HostAddress(output);
    RunBoth(op);
  }
}

TEST_F(GatherTest, ReadsRowsInTheOrderOfIndicesAndRepeatedly) {
  const Address table = Upload(std::vector<float>{1, 2, 3, 4, 5, 6});
  const Address output = Alloc(32);
  ASSERT_TRUE(IsOk(backend().Gather(
      {.rows = 3, .columns = 2, .indices = {2, 0, 2, 1}, .table = table, .output = output})));
  EXPECT_EQ(Floats(output, 8), (std::vector<float>{5, 6, 1, 2, 5, 6, 3, 4}));
}

TEST_F(GatherTest, CopiesBitsOfNans) {
  const std::vector<std::uint32_t> bits = {0x7fc12345, 0xffc00001, 0x7f812345, 0x80000000};
  const Address table = Upload(bits);
  const Address output = Alloc(16);
  ASSERT_TRUE(IsOk(backend().Gather(
      {.rows = 4, .columns = 1, .indices = {0, 1, 2, 3}, .table = table, .output = output})));
  EXPECT_EQ(Download<std::uint32_t>(output, 4), bits);
}

TEST_F(GatherTest, MatchesTheReferenceOnRandomOddSizes) {
  for (int i = 0; i < 16; ++i) {
    ops::Gather op{
        .rows = random_.OddLength(1021), .columns = random_.OddLength(127), .indices = {}};
    op.indices.resize(static_cast<std::size_t>(random_.OddLength(257)));
    for (std::int64_t& index : op.indices) index = random_.Integer(0, op.rows - 1);
    const auto table = random_.Floats(op.rows * op.columns);
    std::vector<float> output(op.indices.size() * static_cast<std::size_t>(op.columns), kNan);
    op.table = HostAddress(table);
    op.output = HostAddress(output);
    SCOPED_TRACE(testing::Message()
                 << op.indices.size() << " of " << op.rows << " x " << op.columns);
    RunBoth(op);
  }
}

TEST_F(GatherTest, TakesManyIndices) {
  ops::Gather op{.rows = 100000, .columns = 1, .indices = {}};
  op.indices.resize(100000);
  std::iota(op.indices.rbegin(), op.indices.rend(), 0);
  const auto table = random_.Floats(op.rows);
  std::vector<float> output(table.size());
  op.table = HostAddress(table);
  op.output = HostAddress(output);
  RunBoth(op);
}

TEST_F(GatherTest, RefusesAnIndexOutOfRangeAndWritesNothing) {
  const Address table = Upload(random_.Floats(12));
  const std::vector<float> before = random_.Floats(12);
  const Address output = Upload(before);
  for (const std::int64_t bad :
       {std::int64_t{-1}, std::int64_t{4}, std::int64_t{1} << 32, std::int64_t{1} << 62,
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    for (const std::vector<std::int64_t>& indices :
         {std::vector<std::int64_t>{bad, 0, 1}, {0, bad, 1}, {0, 1, bad}}) {
      EXPECT_TRUE(IsInvalidArgument(
          backend().Gather(
              {.rows = 4, .columns = 3, .indices = indices, .table = table, .output = output}),
          {"gather", "indices", std::to_string(bad)}));
    }
  }
  EXPECT_TRUE(SameBits(Floats(output, 12), before));
}

TEST_F(GatherTest, RefusesATableOrOutputBeyondItsAllocation) {
  const Address table = Alloc(4 * 3 * 4);
  const Address output = Alloc(2 * 3 * 4);
  EXPECT_TRUE(IsInvalidArgument(
      backend().Gather(
          {.rows = 5, .columns = 3, .indices = {0, 1}, .table = table, .output = output}),
      {"gather", "table"}));
  EXPECT_TRUE(IsInvalidArgument(
      backend().Gather(
          {.rows = 4, .columns = 3, .indices = {0, 1, 2}, .table = table, .output = output}),
      {"gather", "output"}));
}

TEST_F(GatherTest, IsANoOpWithoutIndicesOrColumnsAndLooksAtNoAddress) {
  EXPECT_TRUE(IsOk(backend().Gather({.rows = 4, .columns = 3, .indices = {}, .table = kGarbage})));
  EXPECT_TRUE(IsOk(backend().Gather({.rows = 0, .columns = 3, .indices = {}, .output = kGarbage})));
  EXPECT_TRUE(IsOk(backend().Gather({.rows = 4, .columns = 0, .indices = {1, 2}})));
}

TEST_F(GatherTest, RefusesAnyIndexIntoATableWithoutRows) {
  EXPECT_TRUE(IsInvalidArgument(backend().Gather({.rows = 0, .columns = 3, .indices = {0}}),
                                {"gather", "indices"}));
}

TEST_F(GatherTest, RefusesBadSizesEvenWhereNothingIsDone) {
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{1} << 31}) {
    EXPECT_TRUE(IsInvalidArgument(backend().Gather({.rows = bad, .columns = 3, .indices = {}}),
                                  {"gather", "rows", std::to_string(bad)}));
    EXPECT_TRUE(IsInvalidArgument(backend().Gather({.rows = 3, .columns = bad, .indices = {}}),
                                  {"gather", "columns", std::to_string(bad)}));
  }
}

TEST_F(GatherTest, RefusesTablesBeyondAnyAllocationWithoutOverflow) {
  const std::int64_t large = (std::int64_t{1} << 31) - 1;
  EXPECT_TRUE(IsInvalidArgument(backend().Gather({.rows = large,
                                                  .columns = large,
                                                  .indices = {1},
                                                  .table = Alloc(64),
                                                  .output = Alloc(64)}),
                                {"gather"}));
}

}  // namespace
}  // namespace acceld::conformance
