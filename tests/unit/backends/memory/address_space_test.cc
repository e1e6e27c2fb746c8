#include "backends/memory/address_space.h"

#include <array>
#include <limits>
#include <vector>

#include "backends/core/status.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

using ::testing::AllOf;

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
constexpr auto kOutOfMemory = absl::StatusCode::kResourceExhausted;

TEST(AddressRangeTest, TakenAddressesGrowAreAlignedAndLeaveAGap) {
  AddressRange range = AddressSpace::ClientRange();
  Address end = 1 << 20;
  for (std::uint64_t size : {1, 255, 256, 257, 100000}) {
    const Address base = *range.Take(size);
    EXPECT_EQ(base % kAddressAlignment, 0u);
    EXPECT_GE(base, end);
    end = base + size + kAddressGap;
  }
}

TEST(AddressRangeTest, TakeIsOutOfMemoryWhereTheRangeIsUsedUp) {
  AddressRange range(0x1000, 0x1000 + 2 * (256 + kAddressGap));
  EXPECT_EQ(*range.Take(256), 0x1000u);
  EXPECT_EQ(*range.Take(256), 0x1000u + 256 + kAddressGap);
  EXPECT_THAT(range.Take(1).status(), IsStatus(kOutOfMemory, "An allocation of 1 bytes"));
}

TEST(AddressRangeTest, SizesThatWouldWrapAreOutOfMemoryAndTakeNothing) {
  AddressRange range = AddressSpace::ServerRange();
  for (std::uint64_t size : {kHuge, kHuge - kAddressGap, kHuge - kServerAddressBase}) {
    EXPECT_THAT(range.Take(size).status(), IsStatus(kOutOfMemory, "does not fit"));
    EXPECT_THAT(range.Claim(kServerAddressBase, size), IsStatus(kOutOfMemory, "does not fit"));
  }
  EXPECT_EQ(*range.Take(1), kServerAddressBase);
}

TEST(AddressRangeTest, ClaimTakesWhatAPeerChose) {
  AddressRange range = AddressSpace::ClientRange();
  EXPECT_THAT(range.Claim(1 << 20, 256), IsOk());
  EXPECT_THAT(range.Claim(1 << 30, 256), IsOk());
  EXPECT_EQ(*range.Take(1), (1u << 30) + 256 + kAddressGap);
}

TEST(AddressRangeTest, ClaimRefusesUnalignedAddresses) {
  AddressRange range = AddressSpace::ClientRange();
  EXPECT_THAT(range.Claim((1 << 20) + 255, 256), IsInvalid("not a multiple of 256"));
}

TEST(AddressRangeTest, ClaimRefusesAddressesOutsideItsRange) {
  AddressRange range = AddressSpace::ClientRange();
  EXPECT_THAT(range.Claim(0, 256), IsInvalid("the lowest allowed one is 0x100000"));
  EXPECT_THAT(range.Claim((1 << 20) - 256, 256), IsInvalid("does not grow"));
  EXPECT_THAT(range.Claim(kServerAddressBase, 256), IsInvalid("outside its range"));
  EXPECT_THAT(range.Claim(kHuge - 255, 256), IsInvalid("outside its range"));
}

TEST(AddressRangeTest, ClaimRefusesAddressesThatDoNotGrow) {
  AddressRange range = AddressSpace::ClientRange();
  ASSERT_THAT(range.Claim(1 << 21, 256), IsOk());
  EXPECT_THAT(range.Claim(1 << 21, 256), IsInvalid("does not grow"));
  EXPECT_THAT(range.Claim(1 << 20, 256), IsInvalid("does not grow"));
  EXPECT_THAT(range.Claim((1 << 21) + 256, 256), IsInvalid("does not grow"));  // in the gap
}

TEST(AddressRangeTest, ClaimIsOutOfMemoryWhereTheSizeDoesNotFitBehindTheAddress) {
  AddressRange range = AddressSpace::ClientRange();
  EXPECT_THAT(range.Claim(kServerAddressBase - 256, 256), IsStatus(kOutOfMemory, "does not fit"));
  EXPECT_THAT(range.Claim(kServerAddressBase - 256 - kAddressGap, 256), IsOk());
  EXPECT_THAT(range.Take(1).status(), IsStatus(kOutOfMemory, "does not fit"));
}

class AddressSpaceTest : public ::testing::Test {
 protected:
  Address Insert(std::uint64_t size_bytes) {
    const Address base = *range_.Take(size_bytes);
    space_.Insert(std::make_shared<Allocation>(base, size_bytes, memory_.data()));
    return base;
  }

  absl::Status FindStatus(Address address, unsigned __int128 bytes) {
    return space_.Find(address, bytes, "Operand b of gemm").status();
  }

  std::array<std::byte, 256> memory_{};
  AddressRange range_ = AddressSpace::ClientRange();
  AddressSpace space_;
};

TEST_F(AddressSpaceTest, FindsEveryRangeInsideAnAllocation) {
  Insert(64);
  const Address base = Insert(128);
  Insert(64);
  for (const auto& [address, bytes] :
       {std::pair<Address, int>{base, 128}, {base, 1}, {base + 127, 1}, {base + 64, 64}}) {
    const auto found = space_.Find(address, static_cast<unsigned>(bytes), "x");
    ASSERT_THAT(found.status(), IsOk());
    EXPECT_EQ((*found)->base(), base);
    EXPECT_EQ((*found)->DataAt(address), memory_.data() + (address - base));
  }
}

TEST_F(AddressSpaceTest, AnAccessBeyondTheEndSaysWhereItEnds) {
  const Address base = Insert(128);
  Insert(128);
  const std::string message =
      "Operand b of gemm ends at byte 144, beyond its allocation of 128 bytes.";
  for (Address offset : {0, 100, 127, 128, 143}) {
    const absl::Status status = FindStatus(base + offset, 144 - offset);
    EXPECT_THAT(status, AllOf(IsInvalid(message), HasReason(reason::kInvalidArgument)));
  }
}

TEST_F(AddressSpaceTest, TheByteBehindTheEndIsRefused) {
  const Address base = Insert(128);
  EXPECT_THAT(FindStatus(base, 129), IsInvalid("ends at byte 129"));
  EXPECT_THAT(FindStatus(base + 128, 1), IsInvalid("ends at byte 129"));
  EXPECT_THAT(FindStatus(base + 127, 2), IsInvalid("ends at byte 129"));
}

TEST_F(AddressSpaceTest, HugeSizesDoNotWrap) {
  const Address base = Insert(128);
  const unsigned __int128 wide = static_cast<unsigned __int128>(1) << 64;
  EXPECT_THAT(FindStatus(base + 1, kHuge), IsInvalid("ends at byte 18446744073709551616,"));
  EXPECT_THAT(FindStatus(base, wide + 1), IsInvalid("ends at byte 18446744073709551617,"));
  EXPECT_THAT(FindStatus(base, wide * (wide / 4)), IsInvalid("beyond its allocation"));
}

TEST_F(AddressSpaceTest, UnknownAddressesAreNamedAsSuch) {
  const Address base = Insert(128);
  for (Address address :
       {Address{0}, base - 1, base + 128 + kAddressGap, kServerAddressBase, Address{kHuge}}) {
    EXPECT_THAT(FindStatus(address, 1), AllOf(IsInvalid("Operand b of gemm has address 0x"),
                                              HasReason(reason::kUnknownAddress)));
  }
}

TEST_F(AddressSpaceTest, AFreedAddressIsUnknown) {
  const Address base = Insert(128);
  const Address other = Insert(128);
  ASSERT_THAT(space_.Remove(base).status(), IsOk());
  EXPECT_THAT(FindStatus(base, 1), HasReason(reason::kUnknownAddress));
  EXPECT_THAT(FindStatus(other, 1), IsOk());
}

TEST_F(AddressSpaceTest, TheTextOfAnErrorIsBuiltOnlyForAnError) {
  const Address base = Insert(128);
  int built = 0;
  const auto what = [&built] {
    ++built;
    return std::string("Source of copy");
  };
  EXPECT_THAT(space_.Find(base, 128, what).status(), IsOk());
  EXPECT_EQ(built, 0);
  EXPECT_THAT(space_.Find(base, 129, what).status(), IsInvalid("Source of copy ends"));
  EXPECT_EQ(built, 1);
}

TEST_F(AddressSpaceTest, RemoveTakesOnlyABase) {
  const Address base = Insert(128);
  for (Address offset : {1, 64, 127}) {
    EXPECT_THAT(space_.Remove(base + offset).status(), IsInvalid("only the address"));
  }
  EXPECT_THAT(space_.Remove(base).status(), IsOk());
  EXPECT_EQ(space_.size(), 0u);
}

TEST_F(AddressSpaceTest, RemoveRefusesUnknownAndFreedAddresses) {
  const Address base = Insert(128);
  ASSERT_THAT(space_.Remove(base).status(), IsOk());
  const Address other = Insert(128);
  for (Address address : {Address{0}, base, other + 128, Address{kHuge}}) {
    EXPECT_THAT(space_.Remove(address).status(),
                AllOf(IsInvalid("to free"), HasReason(reason::kUnknownAddress)));
  }
  EXPECT_EQ(space_.size(), 1u);
}

TEST_F(AddressSpaceTest, FindStartFindsOnlyTheStartOfALiveAllocation) {
  const Address base = Insert(128);
  EXPECT_EQ((*space_.FindStart(base, "to map"))->base(), base);
  EXPECT_THAT(space_.FindStart(base + 1, "to map").status(),
              IsInvalid("to map lies 1 bytes inside"));
  for (Address address : {Address{0}, base + 128, Address{kHuge}}) {
    EXPECT_THAT(space_.FindStart(address, "to map").status(),
                AllOf(IsInvalid("to map"), HasReason(reason::kUnknownAddress)));
  }
  EXPECT_EQ(space_.size(), 1u);
}

TEST_F(AddressSpaceTest, AFailedAllocationAnswersWithItsErrorAndCanBeRemoved) {
  const Address base = *range_.Take(128);
  space_.Insert(std::make_shared<Allocation>(
      base, 128, OutOfMemory("The quota is full.", reason::kQuotaExceeded)));
  for (const auto& [offset, bytes] : {std::pair{0, 1}, {100, 1000}, {128, 1}}) {
    EXPECT_THAT(
        FindStatus(base + static_cast<Address>(offset), static_cast<unsigned>(bytes)),
        AllOf(IsStatus(kOutOfMemory, "The quota is full."), HasReason(reason::kQuotaExceeded)));
  }
  EXPECT_THAT(space_.Remove(base).status(), IsOk());
  EXPECT_THAT(FindStatus(base, 1), HasReason(reason::kUnknownAddress));
}

TEST_F(AddressSpaceTest, FindBaseFindsAnAllocationByItsStartOnly) {
  const Address base = *range_.Take(128);
  space_.Insert(std::make_shared<Allocation>(base, 128, memory_.data()));
  EXPECT_EQ((*space_.FindBase(base, "x"))->base(), base);
  EXPECT_THAT(space_.FindBase(base + 1, "The buffer").status(), IsInvalid("The buffer"));
  EXPECT_THAT(space_.FindBase(base + 1, "x").status(), HasReason(reason::kUnknownAddress));
  const absl::Status failed = OutOfMemory("There is none.");
  const Address failed_base = *range_.Take(1);
  space_.Insert(std::make_shared<Allocation>(failed_base, 1, failed));
  EXPECT_EQ(space_.FindBase(failed_base, "x").status(), failed);
  ASSERT_THAT(space_.Remove(base).status(), IsOk());
  EXPECT_THAT(space_.FindBase(base, "x").status(), HasReason(reason::kUnknownAddress));
}

TEST_F(AddressSpaceTest, MemoryIsReleasedWithTheLastReference) {
  const Address base = *range_.Take(128);
  int released = 0;
  space_.Insert(
      std::make_shared<Allocation>(base, 128, memory_.data(), [&released] { ++released; }));
  auto in_use = *space_.Find(base, 1, "x");
  ASSERT_THAT(space_.Remove(base).status(), IsOk());
  EXPECT_EQ(released, 0);
  in_use.reset();
  EXPECT_EQ(released, 1);
}

TEST_F(AddressSpaceTest, ClearReleasesAll) {
  int released = 0;
  for (int i = 0; i < 3; ++i) {
    space_.Insert(std::make_shared<Allocation>(*range_.Take(1), 1, memory_.data(),
                                               [&released] { ++released; }));
  }
  space_.Clear();
  EXPECT_EQ(released, 3);
  EXPECT_EQ(space_.size(), 0u);
}

}  // namespace
}  // namespace acceld
