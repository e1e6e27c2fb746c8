// Memory that the host can see. Where the way cannot show it, each call says so.
#include <algorithm>
#include <vector>

#include "backends/core/status.h"
#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

constexpr std::uint64_t kBytes = 10'000;

class MapTest : public ConformanceTest {
 protected:
  absl::StatusOr<Address> AllocMappable(std::uint64_t bytes = kBytes) {
    return backend().Alloc(bytes, {.mappable = true});
  }

  // A new mappable allocation and its view, both void where the way maps no memory: the test then
  // ends, once it is clear that the backend says so.
  struct Mapped {
    Address address = 0;
    absl::Span<std::byte> view;
  };
  Mapped AllocMapped(std::uint64_t bytes = kBytes) {
    const absl::StatusOr<Address> address = AllocMappable(bytes);
    if (!MapsMemory()) {
      EXPECT_TRUE(IsUnsupported(address.status()));
      return {};
    }
    EXPECT_TRUE(IsOk(address));
    if (!address.ok()) return {};
    const absl::StatusOr<absl::Span<std::byte>> view = backend().Map(*address);
    EXPECT_TRUE(IsOk(view));
    return {.address = *address, .view = view.value_or(absl::Span<std::byte>())};
  }

  static testing::AssertionResult IsUnsupported(const absl::Status& status) {
    const testing::AssertionResult code = HasCode(status, absl::StatusCode::kUnimplemented);
    return code ? HasReason(status, reason::kUnsupported) : code;
  }
};

bool AllAre(absl::Span<const std::byte> bytes, std::byte value) {
  return std::all_of(bytes.begin(), bytes.end(), [value](std::byte byte) { return byte == value; });
}

TEST_F(MapTest, ShowsAllOfAFreshAllocationAsZero) {
  for (const std::uint64_t bytes : {std::uint64_t{1}, kBytes, std::uint64_t{3} << 20}) {
    const Mapped mapped = AllocMapped(bytes);
    if (!MapsMemory()) return;
    EXPECT_EQ(mapped.address % 256, 0u);
    ASSERT_EQ(mapped.view.size(), bytes);
    EXPECT_TRUE(AllAre(mapped.view, std::byte{0}));
  }
}

TEST_F(MapTest, ShowsTheHostWhatTheDeviceWrote) {
  const Mapped mapped = AllocMapped();
  if (!MapsMemory()) return;
  const Stream stream = NewStream();
  ASSERT_TRUE(IsOk(backend().Memset(mapped.address, 0x42, kBytes, stream)));
  ASSERT_TRUE(IsOk(backend().SynchronizeStream(stream)));
  EXPECT_TRUE(AllAre(mapped.view, std::byte{0x42}));
  Write(mapped.address + 3, AsBytes(std::vector<std::uint8_t>{1, 2, 3}));
  ASSERT_TRUE(IsOk(backend().Synchronize()));
  EXPECT_EQ(mapped.view[4], std::byte{2});
}

TEST_F(MapTest, ShowsTheDeviceWhatTheHostWrote) {
  const Mapped mapped = AllocMapped(4 * sizeof(float));
  if (!MapsMemory()) return;
  const std::vector<float> values{1, -2, 3, -4};
  const absl::Span<const std::byte> bytes = AsBytes(values);
  std::copy(bytes.begin(), bytes.end(), mapped.view.begin());
  const Address output = Alloc(bytes.size());
  ASSERT_TRUE(IsOk(
      backend().Unary({.op = UnaryOp::kNeg, .n = 4, .input = mapped.address, .output = output})));
  EXPECT_EQ(Floats(output, 4), (std::vector<float>{-1, 2, -3, 4}));
  EXPECT_EQ(Floats(mapped.address, 4), values);
}

TEST_F(MapTest, GivesTheSameViewAgain) {
  const Mapped mapped = AllocMapped();
  if (!MapsMemory()) return;
  const absl::StatusOr<absl::Span<std::byte>> again = backend().Map(mapped.address);
  ASSERT_TRUE(IsOk(again));
  EXPECT_EQ(again->data(), mapped.view.data());
  EXPECT_EQ(again->size(), mapped.view.size());
}

TEST_F(MapTest, KeepsTheContentsOverUnmapAndMap) {
  const Mapped mapped = AllocMapped();
  if (!MapsMemory()) return;
  mapped.view[9'999] = std::byte{0x21};
  ASSERT_TRUE(IsOk(backend().Unmap(mapped.address)));
  EXPECT_EQ(Download<std::uint8_t>(mapped.address + 9'999, 1)[0], 0x21);
  const absl::StatusOr<absl::Span<std::byte>> again = backend().Map(mapped.address);
  ASSERT_TRUE(IsOk(again));
  EXPECT_EQ((*again)[9'999], std::byte{0x21});
}

TEST_F(MapTest, KeepsMappingsApart) {
  std::vector<Mapped> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(AllocMapped());
    if (!MapsMemory()) return;
    std::fill(all.back().view.begin(), all.back().view.end(), static_cast<std::byte>(i + 1));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(AllAre(all[i].view, static_cast<std::byte>(i + 1))) << i;
  }
}

// What a mapping held must not show in later memory, mappable or not.
TEST_F(MapTest, LeavesNothingInLaterAllocations) {
  const std::uint64_t bytes = 300'000;
  for (int round = 0; round < 3; ++round) {
    const Mapped mapped = AllocMapped(bytes);
    if (!MapsMemory()) return;
    EXPECT_TRUE(AllAre(mapped.view, std::byte{0}));
    std::fill(mapped.view.begin(), mapped.view.end(), std::byte{0xff});
    ASSERT_TRUE(IsOk(backend().Free(mapped.address)));
    const Address plain = Alloc(bytes);
    EXPECT_EQ(Download<std::uint8_t>(plain, bytes), std::vector<std::uint8_t>(bytes, 0));
    ASSERT_TRUE(IsOk(backend().Memset(plain, 0xff, bytes)));
    ASSERT_TRUE(IsOk(backend().Free(plain)));
  }
}

TEST_F(MapTest, IsUnsupportedForMemoryThatIsNotMappable) {
  const Address address = Alloc(kBytes);
  EXPECT_TRUE(IsUnsupported(backend().Map(address).status()));
  EXPECT_TRUE(IsUnsupported(backend().Unmap(address)));
}

TEST_F(MapTest, RefusesAnythingButABaseAddress) {
  const Mapped mapped = AllocMapped();
  for (const Address bad : {Address{0}, kGarbage, ~Address{0}, mapped.address + 1,
                            mapped.address + 256, mapped.address + kBytes}) {
    if (MapsMemory()) {
      EXPECT_TRUE(IsInvalidArgument(backend().Map(bad).status())) << bad;
      EXPECT_TRUE(IsInvalidArgument(backend().Unmap(bad))) << bad;
    } else {
      EXPECT_TRUE(IsUnsupported(backend().Map(bad).status())) << bad;
      EXPECT_TRUE(IsUnsupported(backend().Unmap(bad))) << bad;
    }
  }
}

TEST_F(MapTest, UnmapsOnlyWhatIsMappedAndOnlyOnce) {
  const absl::StatusOr<Address> address = AllocMappable();
  if (!MapsMemory()) {
    EXPECT_TRUE(IsUnsupported(address.status()));
    return;
  }
  ASSERT_TRUE(IsOk(address));
  EXPECT_TRUE(IsInvalidArgument(backend().Unmap(*address), {"not mapped"}));
  ASSERT_TRUE(IsOk(backend().Map(*address)));
  ASSERT_TRUE(IsOk(backend().Map(*address)));
  EXPECT_TRUE(IsOk(backend().Unmap(*address)));
  EXPECT_TRUE(IsInvalidArgument(backend().Unmap(*address), {"not mapped"}));
}

TEST_F(MapTest, EndsWithFree) {
  const Mapped mapped = AllocMapped();
  if (!MapsMemory()) return;
  ASSERT_TRUE(IsOk(backend().Free(mapped.address)));
  EXPECT_TRUE(HasReason(backend().Map(mapped.address).status(), reason::kUnknownAddress));
  EXPECT_TRUE(HasReason(backend().Unmap(mapped.address), reason::kUnknownAddress));
}

TEST_F(MapTest, RefusesNothingAndTooMuchAndThenServesLess) {
  if (!MapsMemory()) {
    EXPECT_TRUE(IsUnsupported(AllocMappable(0).status()));
    EXPECT_TRUE(IsUnsupported(AllocMappable(~std::uint64_t{0}).status()));
    return;
  }
  EXPECT_TRUE(IsInvalidArgument(AllocMappable(0).status()));
  const std::uint64_t total = backend().devices().at(0).total_memory_bytes;
  for (const std::uint64_t bytes : {total + 1, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    EXPECT_TRUE(HasCode(AllocMappable(bytes), absl::StatusCode::kResourceExhausted)) << bytes;
  }
  EXPECT_EQ(AllocMapped().view.size(), kBytes);
}

TEST_F(MapTest, HasALimitAndThenServesAgain) {
  std::vector<Address> addresses;
  absl::Status refused;
  for (int i = 0; i < 10'000 && refused.ok(); ++i) {
    const absl::StatusOr<Address> address = AllocMappable(1);
    refused = address.status();
    if (address.ok()) addresses.push_back(*address);
  }
  if (!MapsMemory()) {
    EXPECT_TRUE(IsUnsupported(refused));
    return;
  }
  EXPECT_TRUE(HasReason(refused, reason::kLimitExceeded));
  EXPECT_NE(Alloc(1), 0u);
  ASSERT_FALSE(addresses.empty());
  ASSERT_TRUE(IsOk(backend().Free(addresses.back())));
  EXPECT_TRUE(IsOk(AllocMappable(1)));
}

}  // namespace
}  // namespace acceld::conformance
