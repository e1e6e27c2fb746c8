// Memory of a card that other processes open; here another device on a fake of the same card.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <thread>

#include "backends/cuda/device_memory.h"
#include "fmt/format.h"
#include "tests/unit/backends/cuda/testing.h"

namespace acceld {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGranule = 64 << 10;
constexpr std::uint64_t kBytes = kGranule + 100;

// A device of 64 MiB, and one that opens its memory.
class CudaOpenTest : public CudaDeviceTest {
 protected:
  CudaOpenTest() { EXPECT_THAT(opener_->Init(), IsOk()); }

  absl::StatusOr<std::byte*> AllocateOpenable(std::uint64_t bytes = kBytes) {
    return device_->Allocate(bytes, {.openable = true});
  }

  std::unique_ptr<Device> opener_ = cuda::MakeCudaDevice(MakeFakeCudaDriver());
};

Submitted ReadBy(Device& device, DeviceQueue queue, Bytes& target, const std::byte* source) {
  return Submitted(device, queue,
                   DeviceToHost{.target = reinterpret_cast<std::byte*>(target.data()),
                                .source = source,
                                .bytes = target.size()});
}

Submitted FillBy(Device& device, DeviceQueue queue, std::byte* target, std::uint8_t value,
                 std::uint64_t bytes) {
  return Submitted(
      device, queue,
      Op(ops::Memset{.target = reinterpret_cast<Address>(target), .value = value, .bytes = bytes}));
}

TEST_F(CudaOpenTest, IsTheSameMemoryForBothAndZeroAtFirst) {
  std::byte* const data = *AllocateOpenable();
  const UniqueFd descriptor = *device_->ExportHandle(data);
  // All that is mapped is zero, not only what was asked for.
  std::byte* const opened = *opener_->ImportHandle(descriptor.get(), 2 * kGranule);
  const DeviceQueue queue = opener_->CreateQueue(0).value();
  Bytes bytes(2 * kGranule, 1);
  EXPECT_THAT(ReadBy(*opener_, queue, bytes, opened).Status(), IsOk());
  EXPECT_EQ(bytes, Bytes(2 * kGranule));
  EXPECT_THAT(Fill(data, 7, kBytes).Status(), IsOk());
  bytes.resize(kBytes);
  EXPECT_THAT(ReadBy(*opener_, queue, bytes, opened).Status(), IsOk());
  EXPECT_EQ(bytes, Bytes(kBytes, 7));
  EXPECT_THAT(FillBy(*opener_, queue, opened, 9, kBytes).Status(), IsOk());
  EXPECT_THAT(Read(bytes, data).Status(), IsOk());
  EXPECT_EQ(bytes, Bytes(kBytes, 9));
  opener_->Release(opened, 2 * kGranule);
  device_->Release(data, kBytes);
  opener_->DestroyQueue(queue);
}

TEST_F(CudaOpenTest, IsZeroWhenItsDescriptorLeaves) {
  std::byte* const data = *AllocateOpenable();
  const UniqueFd descriptor = *device_->ExportHandle(data);
  // As another process could see it, whatever the card has not done yet.
  Bytes bytes(2 * kGranule, 1);
  EXPECT_EQ(pread(descriptor.get(), bytes.data(), bytes.size(), 0), 2 * kGranule);
  EXPECT_EQ(bytes, Bytes(2 * kGranule));
  device_->Release(data, kBytes);
}

// Each of these ends only where it does not wait for the zeroing.
TEST_F(CudaOpenTest, WhileItIsZeroedOtherMemoryIsAllocatedUsedAndReleased) {
  std::byte* const before = Allocate(kBytes);
  card_->HoldCalls("Synchronize");
  std::byte* data = nullptr;
  std::thread opener([&] { data = *AllocateOpenable(); });
  card_->WaitForCalls("Synchronize", 1);
  EXPECT_THAT(Fill(before, 1, kBytes).Status(), IsOk());
  std::byte* const meanwhile = Allocate(kBytes);
  EXPECT_THAT(Fill(meanwhile, 1, kBytes).Status(), IsOk());
  device_->Release(before, kBytes);
  card_->ReleaseCalls();
  opener.join();
  device_->Release(meanwhile, kBytes);
  device_->Release(data, kBytes);
}

TEST_F(CudaOpenTest, WhatIsFreedGoesBackToTheCardAndStaysForWhoHasOpenedIt) {
  std::byte* const data = *AllocateOpenable();
  EXPECT_EQ(device_->memory().free_bytes, 64 * kMiB - 2 * kGranule);
  EXPECT_THAT(Fill(data, 7, kBytes).Status(), IsOk());
  UniqueFd descriptor = *device_->ExportHandle(data);
  std::byte* const opened = *opener_->ImportHandle(descriptor.get(), kBytes);
  descriptor.Reset();
  device_->Release(data, kBytes);
  EXPECT_EQ(device_->memory().free_bytes, 64 * kMiB);
  EXPECT_EQ(card_->pool_bytes(), 0u);
  // New memory is not what was freed.
  std::byte* const next = *AllocateOpenable();
  EXPECT_THAT(Fill(next, 8, kBytes).Status(), IsOk());
  const DeviceQueue queue = opener_->CreateQueue(0).value();
  Bytes bytes(kBytes);
  EXPECT_THAT(ReadBy(*opener_, queue, bytes, opened).Status(), IsOk());
  EXPECT_EQ(bytes, Bytes(kBytes, 7));
  device_->Release(next, kBytes);
  opener_->Release(opened, kBytes);
  opener_->DestroyQueue(queue);
}

// The driver may wait for the card there.
TEST_F(CudaOpenTest, IsUnmappedWhileWhoReleasesItGoesOn) {
  std::byte* const pooled = Allocate(kBytes);
  std::byte* const data = *AllocateOpenable(40 * kMiB);
  const UniqueFd descriptor = *device_->ExportHandle(data);
  std::byte* const opened = *device_->ImportHandle(descriptor.get(), kBytes);
  card_->HoldCalls("UnmapMemory");
  device_->Release(opened, kBytes);
  device_->Release(data, 40 * kMiB);
  // Nobody need wait to know what will be free.
  EXPECT_GT(device_->memory().free_bytes, 63 * kMiB);
  EXPECT_THAT(device_->ExportHandle(data).status(), HasReason(reason::kUnsupported));
  EXPECT_THAT(Fill(pooled, 1, kBytes).Status(), IsOk());
  device_->Release(Allocate(kBytes), kBytes);
  card_->WaitForCalls("UnmapMemory", 1);
  EXPECT_EQ(card_->calls("ReleaseMemory"), 1);  // Of the opening.
  card_->ReleaseCalls();
  device_->Release(pooled, kBytes);
}

// With another process on the card, so that what counts twice does not vanish in the card's size.
TEST_F(CudaOpenTest, CountsOnceWhereItGoesBackWhileTheCardIsAsked) {
  const std::unique_ptr<FakeCudaDriver> card = MakeFakeCudaDriver();
  ASSERT_TRUE(card->Init().ok());
  const cuda::MemoryHandle of_others = card->CreateMemory(16 * kMiB).value;
  {
    cuda::DeviceMemory memory(*card, 64 * kMiB);
    ASSERT_THAT(memory.Init(), IsOk());
    std::byte* const data = *memory.AllocateOpenable(8 * kMiB);
    const int asked = card->calls("Memory");
    card->HoldCalls("Memory");
    std::uint64_t free_bytes = 0;
    std::thread asker([&] { free_bytes = memory.Usage().free_bytes; });
    card->WaitForCalls("Memory", asked + 1);
    memory.Release(data, 8 * kMiB);
    memory.FinishReleases();
    card->ReleaseCalls();
    asker.join();
    // That of when it began to ask: what it reads of the budget comes first.
    EXPECT_EQ(free_bytes, 40 * kMiB);
    EXPECT_EQ(memory.Usage().free_bytes, 48 * kMiB);
  }
  EXPECT_TRUE(card->ReleaseMemory(of_others).ok());
}

TEST_F(CudaOpenTest, WhoFindsNoMemoryWaitsForWhatIsUnmapped) {
  for (const bool openable : {true, false, true, false}) {
    device_->Release(*AllocateOpenable(40 * kMiB), 40 * kMiB);
    const absl::StatusOr<std::byte*> next = device_->Allocate(60 * kMiB, {.openable = openable});
    ASSERT_THAT(next.status(), IsOk());
    device_->Release(*next, 60 * kMiB);
  }
}

TEST_F(CudaOpenTest, AnOpThatFindsNoWorkspaceWaitsForWhatIsUnmapped) {
  std::byte* const pooled = Allocate(32 * kMiB);
  const ops::Gather gather{.rows = 1,
                           .columns = 1,
                           .indices = {0},
                           .table = reinterpret_cast<Address>(pooled),
                           .output = reinterpret_cast<Address>(pooled + 4)};
  for (int i = 0; i < 4; ++i) {
    device_->Release(*AllocateOpenable(32 * kMiB), 32 * kMiB);
    EXPECT_THAT(Submitted(*device_, queue_, Op(gather)).Status(), IsOk());
  }
  device_->Release(pooled, 32 * kMiB);
}

TEST_F(CudaOpenTest, EachOpeningHasItsOwnAddressAndEnd) {
  std::byte* const data = *AllocateOpenable();
  const UniqueFd first = *device_->ExportHandle(data);
  const UniqueFd second = *device_->ExportHandle(data);
  EXPECT_NE(first.get(), second.get());
  EXPECT_TRUE(fcntl(first.get(), F_GETFD) & FD_CLOEXEC);
  std::byte* const once = *device_->ImportHandle(first.get(), kBytes);
  std::byte* const twice = *device_->ImportHandle(second.get(), kBytes);
  EXPECT_NE(once, twice);
  device_->Release(once, kBytes);
  EXPECT_THAT(Fill(twice, 5, kBytes).Status(), IsOk());
  Bytes bytes(kBytes);
  EXPECT_THAT(Read(bytes, data).Status(), IsOk());
  EXPECT_EQ(bytes, Bytes(kBytes, 5));
  device_->Release(twice, kBytes);
  device_->Release(data, kBytes);
}

TEST_F(CudaOpenTest, OnlyWhatWasAllocatedForItIsExported) {
  std::byte* const pooled = Allocate(kBytes);
  EXPECT_THAT(device_->ExportHandle(pooled).status(), HasReason(reason::kUnsupported));
  std::byte* const data = *AllocateOpenable();
  const UniqueFd descriptor = *device_->ExportHandle(data);
  EXPECT_THAT(device_->ExportHandle(data + 256).status(), HasReason(reason::kUnsupported));
  std::byte* const opened = *device_->ImportHandle(descriptor.get(), kBytes);
  EXPECT_THAT(device_->ExportHandle(opened).status(), HasReason(reason::kUnsupported));
  device_->Release(opened, kBytes);
  device_->Release(data, kBytes);
  EXPECT_THAT(device_->ExportHandle(data).status(), HasReason(reason::kUnsupported));
  device_->Release(pooled, kBytes);
}

TEST_F(CudaOpenTest, RefusesADescriptorOfAnythingElse) {
  char name[] = "/tmp/acceld-open-test-XXXXXX";
  const UniqueFd file(mkstemp(name));
  unlink(name);
  ASSERT_EQ(ftruncate(file.get(), kMiB), 0);
  const UniqueFd memory(memfd_create("acceld-mappable", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(memory.get(), kMiB), 0);
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd socket(ends[0]);
  const UniqueFd other_end(ends[1]);
  const UniqueFd folder(open("/tmp", O_PATH | O_CLOEXEC));
  for (const int descriptor : {file.get(), memory.get(), socket.get(), folder.get(), -1, 12345}) {
    EXPECT_THAT(device_->ImportHandle(descriptor, kBytes).status(),
                IsInvalid("is not of 65636 bytes of openable memory of cuda device 0 (GPU-fake-0)"))
        << descriptor;
  }
}

TEST_F(CudaOpenTest, RefusesMemoryOfAnotherCard) {
  std::unique_ptr<Device> other =
      cuda::MakeCudaDevice(std::make_unique<FakeCudaDriver>(FakeCudaOptions{
          .ordinal = 1, .on_misuse = [](const std::string& what) { ADD_FAILURE() << what; }}));
  ASSERT_THAT(other->Init(), IsOk());
  std::byte* const data = *AllocateOpenable();
  const UniqueFd descriptor = *device_->ExportHandle(data);
  EXPECT_THAT(other->ImportHandle(descriptor.get(), kBytes).status(),
              IsInvalid("cuda device 1 (GPU-fake-1): ImportMemory"));
  device_->Release(data, kBytes);
}

TEST_F(CudaOpenTest, RefusesMoreBytesThanThereAre) {
  std::byte* const data = *AllocateOpenable();
  const UniqueFd descriptor = *device_->ExportHandle(data);
  EXPECT_THAT(opener_->ImportHandle(descriptor.get(), 2 * kGranule + 1).status(),
              IsInvalid("MapMemory: the memory is smaller"));
  for (const std::uint64_t bytes : {64 * kMiB + 1, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    EXPECT_THAT(opener_->ImportHandle(descriptor.get(), bytes).status(),
                IsInvalid("and cuda device 0 (fake card) has 67108864"));
  }
  std::byte* const less = *opener_->ImportHandle(descriptor.get(), 1);
  opener_->Release(less, 1);
  device_->Release(data, kBytes);
}

TEST_F(CudaOpenTest, TrimsThePoolWhereThereIsNoMoreMemoryAndServesLess) {
  device_->Release(Allocate(40 * kMiB), 40 * kMiB);
  std::byte* const data = *AllocateOpenable(50 * kMiB);
  EXPECT_EQ(card_->calls("TrimPool"), 1);
  for (const std::uint64_t bytes : {20 * kMiB, 65 * kMiB, ~std::uint64_t{0}}) {
    const std::string refused =
        fmt::format("cuda device 0 has no {} bytes left: 52428800 of its limit of 67108864", bytes);
    EXPECT_THAT(AllocateOpenable(bytes).status(),
                IsStatus(absl::StatusCode::kResourceExhausted, refused));
    EXPECT_THAT(device_->Allocate(bytes, {}).status(),
                IsStatus(absl::StatusCode::kResourceExhausted, refused));
  }
  device_->Release(*AllocateOpenable(14 * kMiB), 14 * kMiB);
  device_->Release(data, 50 * kMiB);
  EXPECT_EQ(device_->memory().free_bytes, 64 * kMiB);
}

TEST_F(CudaOpenTest, IsOutOfMemoryWhereOthersHaveTheCard) {
  for (int i = 0; i < 2; ++i) card_->FailCall("CreateMemory", i + 1, kDriverOutOfMemory);
  EXPECT_THAT(AllocateOpenable().status(),
              IsStatus(absl::StatusCode::kResourceExhausted,
                       "An allocation of 131072 bytes exceeds what cuda device 0 (fake card) has"));
  EXPECT_EQ(device_->memory().free_bytes, 64 * kMiB);
}

TEST_F(CudaOpenTest, IsOfTheCardsGranularity) {
  EXPECT_EQ(device_->openable_granularity(), kGranule);
  const std::unique_ptr<Device> without =
      cuda::MakeCudaDevice(std::make_unique<FakeCudaDriver>(FakeCudaOptions{
          .granularity = 0, .on_misuse = [](const std::string& what) { ADD_FAILURE() << what; }}));
  EXPECT_EQ(without->openable_granularity(), 0u);
}

TEST_F(CudaOpenTest, IsLostWithTheCard) {
  std::byte* const data = *AllocateOpenable();
  const UniqueFd descriptor = *device_->ExportHandle(data);
  card_->FailCall("ExportMemory", 1, kDriverLost);
  EXPECT_THAT(device_->ExportHandle(data).status(), HasReason(reason::kDeviceLost));
  EXPECT_THAT(device_->ExportHandle(data).status(), HasReason(reason::kDeviceLost));
  EXPECT_THAT(device_->ImportHandle(descriptor.get(), kBytes).status(),
              HasReason(reason::kDeviceLost));
  EXPECT_THAT(AllocateOpenable().status(), HasReason(reason::kDeviceLost));
  device_->Release(data, kBytes);
}

}  // namespace
}  // namespace acceld
