#include "tests/unit/backends/context/context_test_base.h"

namespace acceld {
namespace {

constexpr AllocOptions kMappable{.mappable = true};

class ContextMapTest : public ContextTest {
 protected:
  ContextMapTest() { host_->mappable = true; }

  Address AllocMappable() { return *context_->Alloc(kBytes, kMappable); }
};

TEST_F(ContextMapTest, ShowsTheMemoryAndItsFile) {
  const Address a = AllocMappable();
  const absl::StatusOr<MappedMemory> mapped = context_->Map(a);
  ASSERT_THAT(mapped.status(), IsOk());
  EXPECT_EQ(mapped->descriptor, 7);
  ASSERT_EQ(mapped->bytes.size(), kBytes);
  EXPECT_THAT(Fill(a, 5).Get(), IsOk());
  EXPECT_EQ(mapped->bytes[kBytes - 1], std::byte{5});
  EXPECT_EQ(context_->Map(a)->bytes.data(), mapped->bytes.data());
}

TEST_F(ContextMapTest, TheOwnerKeepsTheMemoryAfterFree) {
  const Address a = AllocMappable();
  absl::StatusOr<MappedMemory> mapped = context_->Map(a);
  EXPECT_THAT(context_->Free(a), IsOk());
  EXPECT_EQ(device_->live_bytes(), kBytes);
  mapped->bytes[0] = std::byte{1};
  mapped->owner.reset();
  EXPECT_EQ(device_->live_bytes(), 0u);
}

TEST_F(ContextMapTest, TakesOnlyTheStartOfALiveMappableAllocation) {
  const Address a = AllocMappable();
  const Address plain = Alloc();
  EXPECT_THAT(context_->Map(a + 1).status(), IsInvalid("to map lies 1 bytes inside"));
  EXPECT_THAT(context_->Unmap(a + 1), IsInvalid("to unmap lies 1 bytes inside"));
  EXPECT_THAT(context_->Map(0).status(), HasReason(reason::kUnknownAddress));
  EXPECT_THAT(context_->Unmap(0), HasReason(reason::kUnknownAddress));
  EXPECT_THAT(context_->Map(plain).status(), HasReason(reason::kUnsupported));
  EXPECT_THAT(context_->Unmap(plain), HasReason(reason::kUnsupported));
}

TEST_F(ContextMapTest, UnmapsOnce) {
  const Address a = AllocMappable();
  EXPECT_THAT(context_->Unmap(a), IsInvalid("is not mapped"));
  EXPECT_THAT(context_->Map(a).status(), IsOk());
  EXPECT_THAT(context_->Map(a).status(), IsOk());
  EXPECT_THAT(context_->Unmap(a), IsOk());
  EXPECT_THAT(context_->Unmap(a), IsInvalid("is not mapped"));
  EXPECT_THAT(context_->Map(a).status(), IsOk());
}

TEST_F(ContextMapTest, AChosenAddressStandsForItsFailure) {
  constexpr Address kChosen = 1 << 20;
  device_->FailAllocate(1, OutOfMemory("It is full."));
  const absl::Status full = context_->Alloc(kBytes, kMappable, kChosen).status();
  EXPECT_THAT(full, IsStatus(absl::StatusCode::kResourceExhausted, "full"));
  EXPECT_EQ(context_->Map(kChosen).status(), full);
  EXPECT_THAT(context_->Free(kChosen), IsOk());
}

TEST_F(ContextMapTest, AllocationsHaveALimitOfTheirOwn) {
  const auto context = MakeContext({.mappable_allocations = 1});
  const Address a = *context->Alloc(kBytes, kMappable);
  const absl::Status full = context->Alloc(kBytes, kMappable).status();
  EXPECT_THAT(full, IsStatus(absl::StatusCode::kResourceExhausted,
                             "There are 1 mappable allocations already"));
  EXPECT_THAT(full, HasReason(reason::kLimitExceeded));
  EXPECT_THAT(context->Alloc(kBytes, {}).status(), IsOk());
  EXPECT_THAT(context->Free(a), IsOk());
  EXPECT_THAT(context->Alloc(kBytes, kMappable).status(), IsOk());
}

TEST_F(ContextMapTest, IsUnsupportedOnADeviceWithout) {
  host_->mappable = false;
  const Address a = Alloc();
  for (const absl::Status& status :
       {context_->Map(a).status(), context_->Map(0).status(), context_->Unmap(a),
        context_->Unmap(0), context_->Alloc(0, kMappable).status()}) {
    EXPECT_EQ(status.message(), "The device has no mappable memory.");
    EXPECT_THAT(status, HasReason(reason::kUnsupported));
  }
}

TEST_F(ContextMapTest, EndsWithTheContext) {
  const Address a = AllocMappable();
  EXPECT_THAT(context_->Map(a).status(), IsOk());
  context_->Close();
  EXPECT_THAT(context_->Map(a).status(), HasReason(reason::kSessionEnded));
  EXPECT_THAT(context_->Unmap(a), HasReason(reason::kSessionEnded));
}

}  // namespace
}  // namespace acceld
