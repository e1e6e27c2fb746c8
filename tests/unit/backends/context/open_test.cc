#include <fcntl.h>

#include <limits>

#include "tests/unit/backends/context/context_test_base.h"

namespace acceld {
namespace {

constexpr AllocOptions kOpenable{.openable = true};
constexpr char kUuid[] = "null-0";

class ContextOpenTest : public ContextTest {
 protected:
  ContextOpenTest() { host_->openable = true; }

  Address AllocOpenable() { return *context_->Alloc(kBytes, kOpenable); }
  ShareableHandle Export() { return *context_->ExportHandle(AllocOpenable()); }
};

TEST_F(ContextOpenTest, AHandleSaysWhatItIsOf) {
  const ShareableHandle handle = Export();
  EXPECT_TRUE(handle.descriptor.valid());
  EXPECT_EQ(handle.size_bytes, kBytes);
  EXPECT_EQ(handle.device_uuid, kUuid);
}

TEST_F(ContextOpenTest, OpenableMemoryCountsInWholeGranules) {
  const Address a = AllocOpenable();
  EXPECT_EQ(context_->live_bytes(), 4096u);
  EXPECT_THAT(context_->Free(a), IsOk());
  EXPECT_EQ(context_->live_bytes(), 0u);
}

TEST_F(ContextOpenTest, OnlyTheStartOfALiveOpenableAllocationIsExported) {
  const Address a = AllocOpenable();
  const Address plain = Alloc();
  EXPECT_THAT(context_->ExportHandle(a + 1).status(), IsInvalid("to export lies 1 bytes inside"));
  EXPECT_THAT(context_->ExportHandle(0).status(), HasReason(reason::kUnknownAddress));
  EXPECT_THAT(context_->ExportHandle(plain).status(),
              IsStatus(absl::StatusCode::kUnimplemented, "is not openable; Alloc has an option"));
  EXPECT_THAT(context_->Free(a), IsOk());
  EXPECT_THAT(context_->ExportHandle(a).status(), HasReason(reason::kUnknownAddress));
}

TEST_F(ContextOpenTest, OpenedMemoryIsUsedAndFreedAndCountsAsNothing) {
  const ShareableHandle handle = Export();
  const std::uint64_t before = context_->live_bytes();
  const absl::StatusOr<Address> opened = context_->ImportHandle(handle);
  ASSERT_THAT(opened.status(), IsOk());
  EXPECT_EQ(context_->live_bytes(), before);
  EXPECT_THAT(Fill(*opened, 5).Get(), IsOk());
  EXPECT_THAT(context_->CheckRange(*opened, kBytes + 1, "It"), IsInvalid("beyond its allocation"));
  EXPECT_THAT(context_->ExportHandle(*opened).status(), HasReason(reason::kUnsupported));
  // The handle stays the caller's.
  EXPECT_GE(fcntl(handle.descriptor.get(), F_GETFD), 0);
  const std::uint64_t live_bytes = device_->live_bytes();
  EXPECT_THAT(context_->Free(*opened), IsOk());
  EXPECT_EQ(device_->live_bytes(), live_bytes - kBytes);
  EXPECT_THAT(context_->Free(*opened), HasReason(reason::kUnknownAddress));
}

TEST_F(ContextOpenTest, RefusesAHandleThatCannotBeMeant) {
  ShareableHandle handle = Export();
  handle.device_uuid = "null-1";
  EXPECT_THAT(context_->ImportHandle(handle).status(),
              IsInvalid("The handle is of memory of device null-1, and this is null-0."));
  handle.device_uuid = kUuid;
  handle.size_bytes = 0;
  EXPECT_THAT(context_->ImportHandle(handle).status(), IsInvalid("0 bytes"));
  handle.size_bytes = kBytes;
  handle.descriptor.Reset();
  EXPECT_THAT(context_->ImportHandle(handle).status(), IsInvalid("descriptor, -1, is not open"));
  for (const int descriptor : {-2, std::numeric_limits<int>::max()}) {
    handle.descriptor.Reset(descriptor);
    EXPECT_THAT(context_->ImportHandle(handle).status(), IsInvalid("is not open"));
    (void)handle.descriptor.Release();
  }
}

TEST_F(ContextOpenTest, OpenedMemoryCountsInTheLimitOfAllocations) {
  const auto context = MakeContext({.allocations = 1});
  const ShareableHandle handle = Export();
  const Address opened = *context->ImportHandle(handle);
  EXPECT_THAT(context->ImportHandle(handle).status(), HasReason(reason::kLimitExceeded));
  EXPECT_THAT(context->Free(opened), IsOk());
  EXPECT_THAT(context->ImportHandle(handle).status(), IsOk());
  context->Close();
}

TEST_F(ContextOpenTest, NothingIsOpenedOnceTheSessionHasEnded) {
  const ShareableHandle handle = Export();
  context_->Close();
  EXPECT_THAT(context_->ImportHandle(handle).status(), HasReason(reason::kSessionEnded));
  EXPECT_THAT(context_->ExportHandle(1).status(), HasReason(reason::kSessionEnded));
}

TEST_F(ContextOpenTest, IsDeniedWherePolicySaysSoAndAChosenAddressStandsForThat) {
  const auto context = MakeContext({.direct_opening = false});
  constexpr Address kChosen = 1 << 20;
  EXPECT_THAT(context->Alloc(kBytes, kOpenable, kChosen).status(),
              IsStatus(absl::StatusCode::kPermissionDenied, "allow_direct_opening"));
  EXPECT_THAT(context->ExportHandle(kChosen).status(), HasReason(reason::kPermissionDenied));
  EXPECT_THAT(context->Free(kChosen), IsOk());
  context->Close();
}

TEST_F(ContextOpenTest, IsUnsupportedOnADeviceWithoutSuchMemory) {
  const ShareableHandle handle = Export();
  host_->openable = false;
  // Whatever the policy is, and however wrong the arguments are.
  const auto context = MakeContext({.direct_opening = false});
  EXPECT_THAT(context->Alloc(~std::uint64_t{0}, kOpenable).status(),
              HasReason(reason::kUnsupported));
  const Address plain = *context->Alloc(kBytes, {});
  EXPECT_THAT(context->ExportHandle(plain).status(), HasReason(reason::kUnsupported));
  EXPECT_THAT(context->ImportHandle({}).status(), HasReason(reason::kUnsupported));
  context->Close();
}

}  // namespace
}  // namespace acceld
