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
constexpr TableSize kSizes[] = {{5, 3, 8},       {1, 1, 1},       {300, 700, 400},
                                {20, 300, 999},  {2, 1, 200'000}, {1000, 31, 999},
                                {1000, 32, 999}, {2000, 17, 999}, {3, 100'003, 5},
                                {1, 300'001, 1}, {3, 700'001, 6}, {4001, 1051, 4003}};

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

// Numbers that end where an allocation does, of which they begin so far behind the beginning that
// no vector of them need be aligned.
class Unaligned {
 public:
  Unaligned(const std::vector<float>& values, std::int64_t count, std::int64_t offset)
      : values_(values.begin(), values.begin() + offset + count), offset_(offset) {}
  Address address() const { return AddressOf(values_) + sizeof(float) * offset_; }
  const std::vector<float>& all() const { return values_; }

 private:
  std::vector<float> values_;
  std::uint64_t offset_;
};

struct NarrowRows {
  std::int64_t rows;
  std::int64_t columns;
  std::vector<std::int64_t> indices;
};

// Of every width about as narrow as have a loop of their own; enough for two threads, named about
// once each, often, or never. Odd rows are not named, nor is any but the last where all indices are
// equal.
std::vector<NarrowRows> AllNarrowRows(Random& random) {
  std::vector<NarrowRows> all;
  for (std::int64_t columns = 1; columns <= 40; ++columns) {
    const std::int64_t count = 140'000 / columns + columns;
    for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{5}, count / 9, count - 3}) {
      all.push_back({rows, columns, RandomIndices(random, count, rows)});
      for (std::int64_t& index : all.back().indices) index -= index % 2;
    }
    all.push_back(
        {count, columns, std::vector<std::int64_t>(static_cast<std::size_t>(count), count - 1)});
  }
  return all;
}

TEST(CpuGather, OfNarrowRowsAgreesWithTheReference) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  const auto values = random.Vector(150'000);
  for (const NarrowRows& size : AllNarrowRows(random)) {
    const Unaligned table(values, size.rows * size.columns, size.columns % 15 + 1);
    const Unaligned actual(values, std::ssize(size.indices) * size.columns, size.columns % 7 + 1);
    const Unaligned expected = actual;
    ops::Gather op{.rows = size.rows,
                   .columns = size.columns,
                   .indices = size.indices,
                   .table = table.address(),
                   .output = actual.address()};
    ASSERT_THAT(device.Run(Op(op)), IsOk());
    op.output = expected.address();
    reference::Run(op);
    EXPECT_TRUE(SameBits(actual.all(), expected.all())) << size.rows << " x " << size.columns;
  }
}

TEST(CpuScatter, OfNarrowRowsAgreesWithTheReference) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  const auto values = random.Vector(150'000);
  const auto others = random.Vector(150'000);
  for (const NarrowRows& size : AllNarrowRows(random)) {
    const Unaligned source(values, std::ssize(size.indices) * size.columns, size.columns % 15 + 1);
    const Unaligned actual(others, size.rows * size.columns, size.columns % 7 + 1);
    const Unaligned expected = actual;
    ops::Scatter op{.rows = size.rows,
                    .columns = size.columns,
                    .indices = size.indices,
                    .source = source.address(),
                    .table = actual.address()};
    ASSERT_THAT(device.Run(Op(op)), IsOk());
    op.table = expected.address();
    reference::Run(op);
    EXPECT_TRUE(SameBits(actual.all(), expected.all())) << size.rows << " x " << size.columns;
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
