#include <algorithm>
#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

class MemsetTest : public ConformanceTest {
 protected:
  std::vector<std::uint8_t> Bytes(Address address, std::size_t count) {
    return Download<std::uint8_t>(address, count);
  }
};

TEST_F(MemsetTest, SetsExactlyTheBytesItNames) {
  const Address room = Alloc(1000);
  for (const auto& [offset, bytes] : {std::pair<std::size_t, std::size_t>{0, 1000},
                                      {0, 1},
                                      {999, 1},
                                      {3, 5},
                                      {13, 255},
                                      {128, 512}}) {
    ASSERT_TRUE(IsOk(backend().Memset(room, 0x11, 1000)));
    ASSERT_TRUE(IsOk(backend().Memset(room + offset, 0xee, bytes)));
    std::vector<std::uint8_t> expected(1000, 0x11);
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(offset), bytes, 0xee);
    EXPECT_EQ(Bytes(room, 1000), expected) << offset << " " << bytes;
  }
}

TEST_F(MemsetTest, SetsEveryByteValue) {
  const Address room = Alloc(256);
  std::vector<std::uint8_t> expected;
  for (int value = 0; value < 256; ++value) {
    expected.push_back(static_cast<std::uint8_t>(value));
    ASSERT_TRUE(IsOk(backend().Memset(room + static_cast<std::uint64_t>(value),
                                      static_cast<std::uint8_t>(value), 1)));
  }
  EXPECT_EQ(Bytes(room, 256), expected);
}

TEST_F(MemsetTest, SetsManyBytes) {
  const std::uint64_t bytes = (5 << 20) + 7;
  const Address room = Alloc(bytes);
  ASSERT_TRUE(IsOk(backend().Memset(room, 0x7b, bytes)));
  const std::vector<std::uint8_t> found = Bytes(room, bytes);
  EXPECT_EQ(std::count(found.begin(), found.end(), 0x7b), static_cast<std::ptrdiff_t>(bytes));
}

TEST_F(MemsetTest, IsANoOpOnNothingAndLooksAtNoAddress) {
  for (const Address address : {Address{0}, kGarbage, ~Address{0}}) {
    EXPECT_TRUE(IsOk(backend().Memset(address, 1, 0)));
  }
}

TEST_F(MemsetTest, RefusesRangesBeyondTheAllocationAndTouchesNothing) {
  const std::vector<std::uint8_t> before(300, 0x42);
  const Address room = Upload(before);
  EXPECT_TRUE(IsInvalidArgument(backend().Memset(room, 1, 301), {"memset", "301", "300"}));
  EXPECT_TRUE(IsInvalidArgument(backend().Memset(room + 299, 1, 2), {"memset", "301", "300"}));
  EXPECT_TRUE(IsInvalidArgument(backend().Memset(room + 300, 1, 1), {"memset"}));
  EXPECT_TRUE(IsInvalidArgument(backend().Memset(room - 1, 1, 2), {"memset"}));
  EXPECT_EQ(Bytes(room, 300), before);
}

// address + bytes exceeds 64 bits; it may not be computed modulo 2^64.
TEST_F(MemsetTest, RefusesHugeRangesWithoutOverflow) {
  const std::vector<std::uint8_t> before(300, 0x42);
  const Address room = Upload(before);
  for (const std::uint64_t bytes :
       {~std::uint64_t{0}, ~std::uint64_t{0} - room + 1, ~std::uint64_t{0} - room + 11,
        std::uint64_t{1} << 63, std::uint64_t{1} << 62}) {
    EXPECT_TRUE(IsInvalidArgument(backend().Memset(room, 1, bytes), {"memset"})) << bytes;
    EXPECT_TRUE(IsInvalidArgument(backend().Memset(room + 10, 1, bytes), {"memset"})) << bytes;
  }
  EXPECT_EQ(Bytes(room, 300), before);
}

}  // namespace
}  // namespace acceld::conformance
