// Gather, scatter, memset and the copies.
#include <numeric>

#include "backends/reference/reference.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld {
namespace {

std::vector<std::int64_t> RandomIndices(Random& random, std::int64_t count, std::int64_t rows) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  for (std::int64_t& index : indices) index = random.Integer(0, rows - 1);
  return indices;
}

struct TableSize {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t indices;
};

// Some below and some beyond what one thread gets; some have fewer rows than indices, some rows
// that threads share. The last two go past the caches.
constexpr TableSize kSizes[] = {{5, 3, 8},       {1, 1, 1},         {300, 700, 400},
                                {2, 1, 200'000}, {1000, 31, 999},   {1000, 32, 999},
                                {2000, 17, 999}, {3, 100'003, 5},   {1, 300'001, 1},
                                {3, 700'001, 6}, {4001, 1051, 4003}};

TEST(CpuGather, AgreesWithTheReference) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const TableSize& size : kSizes) {
    const auto table = random.Vector(size.rows * size.columns);
    std::vector<float> actual(static_cast<std::size_t>(size.indices * size.columns));
    auto expected = actual;
    ops::Gather op{.rows = size.rows,
                   .columns = size.columns,
                   .indices = RandomIndices(random, size.indices, size.rows),
                   .table = AddressOf(table),
                   .output = AddressOf(actual)};
    ASSERT_THAT(device.Run(Op(op)), IsOk());
    op.output = AddressOf(expected);
    reference::Run(op);
    EXPECT_TRUE(SameBits(actual, expected));
  }
}

TEST(CpuScatter, AgreesWithTheReferenceForRepeatedIndices) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const TableSize& size : kSizes) {
    const auto source = random.Vector(size.indices * size.columns);
    auto actual = random.Vector(size.rows * size.columns);
    auto expected = actual;
    ops::Scatter op{.rows = size.rows,
                    .columns = size.columns,
                    .indices = RandomIndices(random, size.indices, size.rows),
                    .source = AddressOf(source),
                    .table = AddressOf(actual)};
    ASSERT_THAT(device.Run(Op(op)), IsOk());
    op.table = AddressOf(expected);
    reference::Run(op);
    EXPECT_TRUE(SameBits(actual, expected));
  }
}

TEST(CpuGather, OfNothingDoesNothing) {
  TestDevice device;
  EXPECT_THAT(device.Run(Op(ops::Gather{.rows = 3, .columns = 2})), IsOk());
  EXPECT_THAT(device.Run(Op(ops::Gather{.rows = 3, .columns = 0, .indices = {1}})), IsOk());
  EXPECT_THAT(device.Run(Op(ops::Scatter{.rows = 3, .columns = 2})), IsOk());
  EXPECT_THAT(device.Run(Op(ops::Scatter{.rows = 3, .columns = 0, .indices = {1}})), IsOk());
}

TEST(CpuMemset, SetsItsRangeOnly) {
  TestDevice device;
  for (const std::size_t bytes : {0u, 1u, 1000u, 3'000'001u}) {
    std::vector<std::uint8_t> data(bytes + 2, 7);
    ASSERT_THAT(
        device.Run(Op(ops::Memset{.target = AddressOf(data) + 1, .value = 0xab, .bytes = bytes})),
        IsOk());
    EXPECT_EQ(data.front(), 7);
    EXPECT_EQ(data.back(), 7);
    data.front() = data.back() = 0xab;
    EXPECT_EQ(std::count(data.begin(), data.end(), 0xab), std::ssize(data));
  }
}

TEST(CpuCopies, CopyTheirRangeOnly) {
  TestDevice device;
  for (const std::size_t bytes : {0u, 1u, 1000u, 3'000'001u}) {
    std::vector<std::uint8_t> source(bytes);
    std::iota(source.begin(), source.end(), std::uint8_t{1});
    std::vector<std::uint8_t> expected(bytes + 2, 7);
    std::copy(source.begin(), source.end(), expected.begin() + 1);
    const auto* from = reinterpret_cast<const std::byte*>(source.data());

    for (int kind = 0; kind < 3; ++kind) {
      std::vector<std::uint8_t> target(bytes + 2, 7);
      auto* to = reinterpret_cast<std::byte*>(target.data()) + 1;
      const Work work =
          kind == 0 ? Work(HostToDevice{.target = to, .source = from, .bytes = bytes})
          : kind == 1
              ? Work(DeviceToHost{.target = to, .source = from, .bytes = bytes})
              : Work(Op(ops::CopyDtoD{
                    .target = AddressOf(target) + 1, .source = AddressOf(source), .bytes = bytes}));
      ASSERT_THAT(device.Run(work), IsOk());
      EXPECT_EQ(target, expected);
    }
  }
}

}  // namespace
}  // namespace acceld
