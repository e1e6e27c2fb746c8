#include "tests/unit/backends/context/context_test_base.h"

namespace acceld {
namespace {

constexpr auto kOutOfMemory = absl::StatusCode::kResourceExhausted;
constexpr Address kChosen = 1 << 20;

class ContextMemoryTest : public ContextTest {
 protected:
  // Host memory of a copy that, when it goes, calls the context, and so must not go under its lock.
  std::shared_ptr<const void> Host() {
    return {new int(0), [this](const int* memory) {
              delete memory;
              ++hosts_gone_;
              (void)context_->CheckRange(1, 1, "It");
            }};
  }

  int hosts_gone_ = 0;
};

TEST_F(ContextMemoryTest, AllocRefusesWrongArguments) {
  EXPECT_THAT(context_->Alloc(0, {}).status(), IsInvalid("Alloc of 0 bytes"));
  EXPECT_THAT(context_->Alloc(1, {.mappable = true}).status(),
              IsStatus(absl::StatusCode::kUnimplemented, "mappable"));
}

TEST_F(ContextMemoryTest, FreeTakesOnlyTheStartOfALiveAllocation) {
  const Address a = Alloc();
  EXPECT_THAT(context_->Free(a + 1), IsInvalid("1 bytes inside"));
  EXPECT_THAT(context_->Free(a), IsOk());
  EXPECT_THAT(context_->Free(a), HasReason(reason::kUnknownAddress));
  EXPECT_THAT(context_->Free(0), HasReason(reason::kUnknownAddress));
  EXPECT_NE(Alloc(), a);
}

TEST_F(ContextMemoryTest, AFreedAddressIsInvalidAtOnceAndItsMemoryReturnsAfterItsWork) {
  const Address a = Alloc();
  Buffer buffer{};
  device_->CloseGate();
  std::uint64_t live_when_done = 1;
  ASSERT_THAT(context_->Run(ops::Memset{.target = a, .bytes = kBytes}, kDefaultStream,
                            [&](const absl::Status&) { live_when_done = device_->live_bytes(); }),
              IsOk());
  EXPECT_THAT(context_->Free(a), IsOk());
  const auto unknown = HasReason(reason::kUnknownAddress);
  EXPECT_THAT(context_->Run(ops::Memset{.target = a, .bytes = 1}, kDefaultStream), unknown);
  EXPECT_THAT(context_->Write(a, buffer, kDefaultStream, nullptr, nullptr), unknown);
  EXPECT_THAT(context_->CheckRange(a, 1, "It"), unknown);
  EXPECT_EQ(device_->live_bytes(), kBytes);
  EXPECT_EQ(context_->live_bytes(), kBytes);
  device_->OpenGate();
  EXPECT_EQ(live_when_done, 0u);
  EXPECT_EQ(context_->live_bytes(), 0u);
}

TEST_F(ContextMemoryTest, TheMemoryOfSkippedWorkReturnsBeforeItIsDone) {
  const Address a = Alloc();
  const Address b = Alloc();
  device_->CloseGate();
  device_->FailSubmit(1, kFault);
  Fill(a, 1);
  std::uint64_t live_when_done = 0;
  ASSERT_THAT(context_->Run(ops::Memset{.target = b, .bytes = kBytes}, kDefaultStream,
                            [&](const absl::Status&) { live_when_done = device_->live_bytes(); }),
              IsOk());
  EXPECT_THAT(context_->Free(b), IsOk());
  EXPECT_EQ(device_->live_bytes(), 2 * kBytes);
  device_->OpenGate();
  EXPECT_EQ(live_when_done, kBytes);
}

TEST_F(ContextMemoryTest, MemoryIsReleasedWithoutALock) {
  host_->on_release = [&] { (void)context_->CheckRange(1, 1, "It"); };
  const Address a = Alloc();
  EXPECT_THAT(context_->Free(a), IsOk());
  const Address b = Alloc();
  device_->CloseGate();
  device_->FailSubmit(1, kFault);
  Fill(b, 1);
  const Address c = Alloc();
  Fill(c, 1);
  EXPECT_THAT(context_->Free(b), IsOk());
  EXPECT_THAT(context_->Free(c), IsOk());
  device_->OpenGate();
  EXPECT_EQ(device_->live_bytes(), 0u);
  Alloc();
  context_->Close();
  EXPECT_EQ(device_->live_bytes(), 0u);
  host_->on_release = nullptr;
}

TEST_F(ContextMemoryTest, QueuesAreMadeAndDestroyedWithoutALock) {
  int calls = 0;
  host_->on_create_queue = host_->on_destroy_queue = [&] {
    ++calls;
    (void)context_->CheckRange(1, 1, "It");
  };
  EXPECT_THAT(context_->DestroyStream(NewStream()), IsOk());
  EXPECT_EQ(calls, 2);
  host_->on_create_queue = host_->on_destroy_queue = nullptr;
}

TEST_F(ContextMemoryTest, HostMemoryIsKeptUntilItsCopyIsDone) {
  const Address a = Alloc();
  Buffer buffer{};
  device_->CloseGate();
  Write(a, buffer, kDefaultStream, Host());
  EXPECT_EQ(hosts_gone_, 0);
  device_->OpenGate();
  EXPECT_EQ(hosts_gone_, 1);
}

TEST_F(ContextMemoryTest, HostMemoryOfASkippedCopyGoes) {
  const Address a = Alloc();
  Buffer buffer{};
  device_->FailSubmit(1, kFault);
  Fill(a, 1);
  Write(a, buffer, kDefaultStream, Host());
  EXPECT_EQ(hosts_gone_, 1);
}

TEST_F(ContextMemoryTest, HostMemoryOfADroppedCopyGoes) {
  const Address a = Alloc();
  Buffer buffer{};
  device_->CloseGate();
  Fill(a, 1);
  Write(a, buffer, kDefaultStream, Host());
  context_->Close();
  EXPECT_EQ(hosts_gone_, 1);
}

TEST_F(ContextMemoryTest, OutOfMemoryLeavesRoomForSmallerRequests) {
  const absl::Status full = context_->Alloc(std::uint64_t{1} << 40, {}).status();
  EXPECT_THAT(full, IsStatus(kOutOfMemory, ""));
  EXPECT_EQ(context_->live_bytes(), 0u);
  EXPECT_THAT(context_->Alloc(16, {}).status(), IsOk());
}

TEST_F(ContextMemoryTest, AClientMayChooseAddressesThatGrow) {
  EXPECT_EQ(*context_->Alloc(kBytes, {}, kChosen), kChosen);
  EXPECT_THAT(context_->Alloc(kBytes, {}, kChosen).status(), IsInvalid("does not grow"));
  EXPECT_THAT(context_->Alloc(kBytes, {}, kServerAddressBase).status(), IsInvalid("outside"));
  EXPECT_THAT(Fill(kChosen, 1).Get(), IsOk());
  EXPECT_GE(Alloc(), kServerAddressBase);
}

TEST_F(ContextMemoryTest, AChosenAddressStandsForTheErrorOfItsAllocation) {
  const absl::Status full = OutOfMemory("The device is full.");
  device_->FailAllocate(1, full);
  EXPECT_EQ(context_->Alloc(kBytes, {}, kChosen).status(), full);
  EXPECT_EQ(context_->Run(ops::Memset{.target = kChosen + 3, .bytes = 1}, kDefaultStream), full);
  EXPECT_EQ(context_->CheckRange(kChosen, kBytes, "It"), full);
  EXPECT_THAT(context_->Free(kChosen), IsOk());
  EXPECT_THAT(context_->CheckRange(kChosen, 1, "It"), HasReason(reason::kUnknownAddress));
  EXPECT_THAT(context_->Free(kChosen), HasReason(reason::kUnknownAddress));
}

TEST_F(ContextMemoryTest, AChosenAddressStandsForASizeOfZero) {
  EXPECT_THAT(context_->Alloc(0, {}, kChosen).status(), IsInvalid("0 bytes"));
  EXPECT_THAT(context_->CheckRange(kChosen, 1, "It"), IsInvalid("Alloc of 0 bytes"));
  EXPECT_THAT(context_->Free(kChosen), IsOk());
}

TEST_F(ContextMemoryTest, AChosenAddressStandsForASizeBeyondAllAddresses) {
  const absl::Status full = context_->Alloc(~std::uint64_t{0}, {}, kChosen).status();
  EXPECT_THAT(full, IsStatus(kOutOfMemory, "does not fit"));
  EXPECT_EQ(context_->CheckRange(kChosen, 1, "It"), full);
  EXPECT_THAT(context_->Free(kChosen), IsOk());
  EXPECT_THAT(context_->Alloc(kBytes, {}, kChosen).status(), IsInvalid("does not grow"));
}

TEST_F(ContextMemoryTest, AllocationsHaveALimit) {
  const auto context = MakeContext({.allocations = 1});
  const Address a = *context->Alloc(kBytes, {});
  const absl::Status full = context->Alloc(kBytes, {}, kChosen).status();
  EXPECT_THAT(full, IsStatus(kOutOfMemory, "There are 1 allocations already"));
  EXPECT_THAT(full, HasReason(reason::kLimitExceeded));
  EXPECT_EQ(context->CheckRange(kChosen, 1, "It"), full);
  EXPECT_THAT(context->Free(kChosen), IsOk());
  EXPECT_THAT(context->Free(a), IsOk());
  EXPECT_THAT(context->Alloc(kBytes, {}).status(), IsOk());
}

TEST_F(ContextMemoryTest, FailuresBeyondTheLimitAreNotKeptWithoutBound) {
  const auto context = MakeContext({.allocations = 0});
  Address chosen = kChosen;
  absl::Status named;
  int kept = 0;
  for (; kept < 100'000; ++kept, chosen += 8192) {
    EXPECT_THAT(context->Alloc(1, {}, chosen).status(), HasReason(reason::kLimitExceeded));
    named = context->CheckRange(chosen, 1, "It");
    if (GetReason(named) != reason::kLimitExceeded) break;
  }
  EXPECT_THAT(named, HasReason(reason::kUnknownAddress));
}

TEST_F(ContextMemoryTest, BytesCountInEveryAccountAbove) {
  const auto all = std::make_shared<MemoryAccount>();
  const auto context =
      *DeviceContext::Create(*device_, Unowned(*device_), {}, std::make_shared<MemoryAccount>(all));
  const Address a = *context->Alloc(100, {});
  const Address b = *context->Alloc(28, {});
  EXPECT_EQ(context->live_bytes(), 128u);
  EXPECT_EQ(all->used_bytes(), 128u);
  EXPECT_THAT(context->Free(a), IsOk());
  EXPECT_EQ(all->used_bytes(), 28u);
  EXPECT_THAT(context->Free(b), IsOk());
  EXPECT_EQ(all->used_bytes(), 0u);
}

TEST_F(ContextMemoryTest, CheckRangeNamesWhatIsOutside) {
  const Address a = Alloc();
  EXPECT_THAT(context_->CheckRange(a + 8, 8, "The target"), IsOk());
  EXPECT_THAT(context_->CheckRange(a + 8, 9, "The target"),
              IsInvalid("The target ends at byte 17, beyond its allocation of 16 bytes."));
  EXPECT_THAT(context_->CheckRange(1, 0, "The target"), IsOk());
}

}  // namespace
}  // namespace acceld
