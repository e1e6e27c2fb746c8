// Allocations, their addresses, and copies between them and the host.
#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "backends/core/status.h"
#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

class MemoryTest : public ConformanceTest {
 protected:
  std::vector<std::uint8_t> RandomBytes(std::size_t count) {
    std::vector<std::uint8_t> bytes(count);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_.Integer(0, 255));
    return bytes;
  }
  std::vector<std::uint8_t> Bytes(Address address, std::size_t count) {
    return Download<std::uint8_t>(address, count);
  }
  absl::Status CopyIn(Address target, const std::vector<std::uint8_t>& bytes) {
    return backend().CopyHtoD(target, AsBytes(bytes));
  }
  absl::Status CopyOut(std::vector<std::uint8_t>& bytes, Address source) {
    return backend().CopyDtoH(AsWritableBytes(bytes), source);
  }
};

// ---- Alloc ----

TEST_F(MemoryTest, AlignsAddressesTo256Bytes) {
  for (const std::uint64_t bytes : {1, 3, 255, 256, 257, 5000, 1 << 20}) {
    EXPECT_EQ(Alloc(bytes) % 256, 0u) << bytes;
  }
}

TEST_F(MemoryTest, RefusesToAllocateNothing) {
  EXPECT_TRUE(IsInvalidArgument(backend().Alloc(0), {"alloc", "0"}));
}

TEST_F(MemoryTest, HandsOutRangesThatShareNothing) {
  std::vector<std::pair<Address, std::uint64_t>> ranges;
  for (int i = 0; i < 300; ++i) {
    const auto bytes = static_cast<std::uint64_t>(random_.Integer(1, 10000));
    ranges.emplace_back(Alloc(bytes), bytes);
    EXPECT_NE(ranges.back().first, 0u);
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    // Apart, so that what runs past one end does not reach the next.
    EXPECT_LT(ranges[i - 1].first + ranges[i - 1].second, ranges[i].first);
  }
}

TEST_F(MemoryTest, KeepsTheContentsOfManyAllocationsApart) {
  std::vector<Address> addresses;
  std::vector<std::vector<std::uint8_t>> contents;
  for (int i = 0; i < 100; ++i) {
    contents.push_back(RandomBytes(static_cast<std::size_t>(random_.Integer(1, 3000))));
    addresses.push_back(Upload(contents.back()));
  }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    EXPECT_EQ(Bytes(addresses[i], contents[i].size()), contents[i]) << i;
  }
}

TEST_F(MemoryTest, ReadsFreshMemoryAsZero) {
  for (const std::size_t bytes : {1, 100, 4096, 70000, 3 << 20}) {
    EXPECT_EQ(Bytes(Alloc(bytes), bytes), std::vector<std::uint8_t>(bytes, 0));
  }
}

// What one allocation held must not show in a later one of the same memory.
TEST_F(MemoryTest, ReadsMemoryThatWasUsedBeforeAsZero) {
  for (const std::size_t bytes : {100, 4096, 70000, 3 << 20}) {
    for (int round = 0; round < 3; ++round) {
      const Address address = Alloc(bytes);
      EXPECT_EQ(Bytes(address, bytes), std::vector<std::uint8_t>(bytes, 0)) << round;
      ASSERT_TRUE(IsOk(backend().Memset(address, 0xff, bytes)));
      ASSERT_TRUE(IsOk(backend().Free(address)));
    }
  }
}

TEST_F(MemoryTest, ReadsTheRestOfPartlyWrittenMemoryAsZero) {
  const std::size_t bytes = 100000;
  const Address dirty = Alloc(bytes);
  ASSERT_TRUE(IsOk(backend().Memset(dirty, 0xff, bytes)));
  ASSERT_TRUE(IsOk(backend().Free(dirty)));
  const Address address = Alloc(bytes);
  ASSERT_TRUE(IsOk(CopyIn(address + 50000, {1, 2, 3})));
  std::vector<std::uint8_t> expected(bytes, 0);
  expected[50000] = 1;
  expected[50001] = 2;
  expected[50002] = 3;
  EXPECT_EQ(Bytes(address, bytes), expected);
}

// On whichever stream a buffer is used first.
TEST_F(MemoryTest, ReadsFreshMemoryAsZeroOnEveryStream) {
  std::vector<Stream> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(NewStream());
  const std::size_t bytes = 200000;
  for (int round = 0; round < 3; ++round) {
    const Address address = Alloc(bytes);
    const std::vector<std::uint8_t> zeros(bytes, 0);
    for (const Stream stream : streams) {
      EXPECT_EQ(Download<std::uint8_t>(address, bytes, stream), zeros);
    }
    ASSERT_TRUE(IsOk(backend().Memset(address, 0xff, bytes)));
    ASSERT_TRUE(IsOk(backend().Free(address)));
  }
}

TEST_F(MemoryTest, NeverHandsOutAnAddressTwice) {
  std::set<Address> seen;
  for (int i = 0; i < 2000; ++i) {
    const Address address = Alloc(1 + static_cast<std::uint64_t>(i % 3) * 5000);
    EXPECT_TRUE(seen.insert(address).second) << address;
    ASSERT_TRUE(IsOk(backend().Free(address)));
  }
}

TEST_F(MemoryTest, RefusesMoreThanThereIsAndThenServesLess) {
  const std::vector<DeviceInfo> devices = backend().devices();
  ASSERT_FALSE(devices.empty());
  const Address kept = Upload(std::vector<std::uint8_t>{1, 2, 3});
  for (int round = 0; round < 3; ++round) {
    const absl::StatusOr<Address> address = backend().Alloc(devices[0].total_memory_bytes + 1);
    EXPECT_TRUE(HasCode(address, absl::StatusCode::kResourceExhausted));
    EXPECT_TRUE(HasReason(address, reason::kDeviceOutOfMemory));
    EXPECT_TRUE(Mentions(address, {std::to_string(devices[0].total_memory_bytes + 1)}));
  }
  const Address smaller = Alloc(1 << 20);
  EXPECT_EQ(Bytes(smaller, 16), std::vector<std::uint8_t>(16, 0));
  EXPECT_EQ(Bytes(kept, 3), (std::vector<std::uint8_t>{1, 2, 3}));
}

TEST_F(MemoryTest, CountsWhatIsAllocatedAndGivesItBackOnFree) {
  const std::uint64_t half = backend().devices().at(0).total_memory_bytes / 2 + 1;
  const Address first = Alloc(half);
  EXPECT_TRUE(HasCode(backend().Alloc(half), absl::StatusCode::kResourceExhausted));
  ASSERT_TRUE(IsOk(backend().Free(first)));
  const Address second = Alloc(half);
  EXPECT_NE(second, first);
  EXPECT_TRUE(HasCode(backend().Alloc(half), absl::StatusCode::kResourceExhausted));
}

TEST_F(MemoryTest, RefusesSizesThatWouldOverflowAndThenServesLess) {
  for (const std::uint64_t bytes :
       {~std::uint64_t{0}, ~std::uint64_t{0} - 254, ~std::uint64_t{0} - 4096,
        std::uint64_t{1} << 63, (std::uint64_t{1} << 63) - 1, std::uint64_t{1} << 62,
        std::uint64_t{1} << 48}) {
    EXPECT_TRUE(HasCode(backend().Alloc(bytes), absl::StatusCode::kResourceExhausted)) << bytes;
    EXPECT_NE(Alloc(64), 0u);
  }
}

// ---- Free ----

TEST_F(MemoryTest, RefusesToFreeAnythingButABaseAddress) {
  const Address address = Alloc(1000);
  for (const Address bad : {Address{0}, address + 1, address + 256, address + 999, address + 1000,
                            address - 1, address - 256, kGarbage, ~Address{0}}) {
    EXPECT_TRUE(IsInvalidArgument(backend().Free(bad))) << bad - address;
  }
  EXPECT_TRUE(IsOk(backend().Free(address)));
}

TEST_F(MemoryTest, NamesTheReasonAndAddressOfABadFree) {
  const absl::Status status = backend().Free(0x1234500);
  EXPECT_TRUE(HasReason(status, reason::kUnknownAddress));
  EXPECT_TRUE(Mentions(status, {"free", "1234500"}));
}

TEST_F(MemoryTest, ReportsADoubleFree) {
  const Address address = Alloc(64);
  ASSERT_TRUE(IsOk(backend().Free(address)));
  EXPECT_TRUE(HasReason(backend().Free(address), reason::kUnknownAddress));
  // Also once the memory belongs to somebody else.
  const Address other = Alloc(64);
  EXPECT_TRUE(IsInvalidArgument(backend().Free(address)));
  EXPECT_TRUE(IsOk(backend().Free(other)));
}

TEST_F(MemoryTest, ReportsEveryUseAfterFree) {
  const Address address = Alloc(64);
  const Address valid = Alloc(64);
  ASSERT_TRUE(IsOk(backend().Free(address)));
  Alloc(64);
  std::vector<std::uint8_t> bytes(4, 0x77);
  for (const absl::Status& status :
       {CopyIn(address, bytes), CopyOut(bytes, address), backend().CopyDtoD(address, valid, 4),
        backend().CopyDtoD(valid, address, 4), backend().Memset(address, 1, 4)}) {
    EXPECT_TRUE(IsInvalidArgument(status));
    EXPECT_TRUE(HasReason(status, reason::kUnknownAddress));
  }
  EXPECT_EQ(bytes, std::vector<std::uint8_t>(4, 0x77));
}

TEST_F(MemoryTest, FreesInAnyOrder) {
  std::vector<Address> addresses;
  for (int i = 0; i < 1000; ++i) addresses.push_back(Alloc(64));
  while (!addresses.empty()) {
    const auto i = static_cast<std::size_t>(
        random_.Integer(0, static_cast<std::int64_t>(addresses.size()) - 1));
    EXPECT_TRUE(IsOk(backend().Free(addresses[i])));
    addresses.erase(addresses.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// Where the copy into it is still waiting behind other work.
TEST_F(MemoryTest, FreesMemoryThatPendingCopiesName) {
  const Stream stream = NewStream();
  const Address source = Upload(std::vector<std::uint8_t>(5000, 9));
  const Address target = Alloc(5000);
  KeepBusy(stream);
  ASSERT_TRUE(IsOk(backend().CopyDtoD(target, source, 5000, stream)));
  ASSERT_TRUE(IsOk(backend().Free(source)));
  EXPECT_TRUE(HasReason(backend().CopyDtoD(target, source, 5000, stream), reason::kUnknownAddress));
  const Address next = Alloc(5000);
  ASSERT_TRUE(IsOk(backend().Memset(next, 0xff, 5000)));
  EXPECT_EQ(Download<std::uint8_t>(target, 5000, stream), std::vector<std::uint8_t>(5000, 9));
}

// ---- CopyHtoD and CopyDtoH ----

TEST_F(MemoryTest, CopiesPartsToAndFromOffsets) {
  std::vector<std::uint8_t> image(5000, 0);
  const Address address = Alloc(image.size());
  for (int i = 0; i < 50; ++i) {
    const std::int64_t offset = random_.Integer(0, 4999);
    const auto part = RandomBytes(static_cast<std::size_t>(random_.Integer(0, 5000 - offset)));
    ASSERT_TRUE(IsOk(CopyIn(address + static_cast<std::uint64_t>(offset), part)));
    std::copy(part.begin(), part.end(), image.begin() + offset);

    const std::int64_t start = random_.Integer(0, 4999);
    const std::int64_t end = random_.Integer(start, 5000);
    EXPECT_EQ(
        Bytes(address + static_cast<std::uint64_t>(start), static_cast<std::size_t>(end - start)),
        std::vector<std::uint8_t>(image.begin() + start, image.begin() + end));
  }
}

TEST_F(MemoryTest, CopiesNothingWithoutLookingAtTheAddress) {
  std::vector<std::uint8_t> nothing;
  for (const Address address : {Address{0}, kGarbage, ~Address{0}}) {
    EXPECT_TRUE(IsOk(backend().CopyHtoD(address, {})));
    EXPECT_TRUE(IsOk(backend().CopyDtoH({}, address)));
    EXPECT_TRUE(IsOk(CopyIn(address, nothing)));
    EXPECT_TRUE(IsOk(CopyOut(nothing, address)));
  }
}

// More than any message, slot or staging buffer on the way.
TEST_F(MemoryTest, CopiesMuchAtOnce) {
  const std::size_t count = std::size_t{70} << 20;
  std::vector<std::uint8_t> bytes(count);
  std::uint64_t state = random_.seed();
  for (std::size_t i = 0; i < count; i += 8) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(&bytes[i], &state, 8);
  }
  const Address address = Alloc(count + 3);
  ASSERT_TRUE(IsOk(CopyIn(address + 1, bytes)));
  std::vector<std::uint8_t> found(count + 3, 0xff);
  ASSERT_TRUE(IsOk(CopyOut(found, address)));
  EXPECT_EQ(found[0], 0);
  EXPECT_TRUE(std::memcmp(&found[1], bytes.data(), count) == 0);
  EXPECT_EQ(found[count + 1], 0);
  EXPECT_EQ(found[count + 2], 0);
}

TEST_F(MemoryTest, CopiesSizesAroundPowersOfTwo) {
  for (const std::size_t power : {4096, 65536, 262144, 1 << 20, 4 << 20}) {
    for (const std::size_t count : {power - 1, power, power + 1}) {
      const auto bytes = std::vector<std::uint8_t>(count, static_cast<std::uint8_t>(count % 251));
      EXPECT_TRUE(Bytes(Upload(bytes), count) == bytes) << count;
    }
  }
}

TEST_F(MemoryTest, RefusesCopiesThatLeaveTheAllocationAndTouchesNothing) {
  const auto before = RandomBytes(300);
  const Address address = Upload(before);
  Alloc(300);
  struct Case {
    Address start;
    std::size_t count;
  };
  for (const Case& bad :
       {Case{address, 301}, Case{address + 299, 2}, Case{address + 300, 1}, Case{address - 1, 2},
        Case{address + 200, 5000}, Case{~Address{0} - 3, 4}, Case{~Address{0} - 3, 8}}) {
    std::vector<std::uint8_t> bytes(bad.count, 0x5a);
    EXPECT_TRUE(IsInvalidArgument(CopyIn(bad.start, bytes))) << bad.start - address;
    EXPECT_TRUE(IsInvalidArgument(CopyOut(bytes, bad.start))) << bad.start - address;
    EXPECT_EQ(bytes, std::vector<std::uint8_t>(bad.count, 0x5a));
  }
  EXPECT_EQ(Bytes(address, 300), before);
}

TEST_F(MemoryTest, NamesTheEndAndTheSizeOfACopyThatLeavesTheAllocation) {
  const Address address = Alloc(128);
  std::vector<std::uint8_t> bytes(44);
  EXPECT_TRUE(IsInvalidArgument(CopyIn(address + 100, bytes), {"144", "128 bytes"}));
  EXPECT_TRUE(IsInvalidArgument(CopyOut(bytes, address + 100), {"144", "128 bytes"}));
}

TEST_F(MemoryTest, LetsTheSourceBeReusedOnceACopyReturns) {
  const Stream stream = NewStream();
  const Address address = Alloc(20 * 40000);
  KeepBusy(stream);
  std::vector<std::uint8_t> bytes(40000);
  for (std::uint64_t i = 0; i < 20; ++i) {
    std::fill(bytes.begin(), bytes.end(), static_cast<std::uint8_t>(i + 1));
    ASSERT_TRUE(IsOk(backend().CopyHtoD(address + i * 40000, AsBytes(bytes), stream)));
  }
  std::fill(bytes.begin(), bytes.end(), 0xff);
  const std::vector<std::uint8_t> found = Download<std::uint8_t>(address, 20 * 40000, stream);
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], i / 40000 + 1) << i;
}

TEST_F(MemoryTest, CopiesInTheOrderOfTheStream) {
  const Stream stream = NewStream();
  const Address address = Alloc(4);
  for (float i = 0; i < 100; ++i) {
    ASSERT_TRUE(IsOk(backend().CopyHtoD(address, AsBytes(std::vector<float>{i}), stream)));
    ASSERT_TRUE(
        IsOk(backend().Binary({.n = 1, .a = address, .b = address, .output = address}, stream)));
    ASSERT_EQ(Floats(address, 1, stream)[0], 2 * i);
  }
}

TEST_F(MemoryTest, ReportsAnUnknownStreamOfACopy) {
  const std::vector<std::uint8_t> before = {1, 2, 3, 4};
  const Address address = Upload(before);
  std::vector<std::uint8_t> bytes(4, 9);
  const Stream unknown{12345};
  for (const absl::Status& status :
       {backend().CopyHtoD(address, AsBytes(bytes), unknown),
        backend().CopyDtoH(AsWritableBytes(bytes), address, unknown)}) {
    EXPECT_TRUE(IsInvalidArgument(status));
    EXPECT_TRUE(HasReason(status, reason::kUnknownStream));
  }
  EXPECT_EQ(bytes, std::vector<std::uint8_t>(4, 9));
  EXPECT_EQ(Bytes(address, 4), before);
}

}  // namespace
}  // namespace acceld::conformance
