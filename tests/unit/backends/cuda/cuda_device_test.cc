#include "backends/cuda/cuda_device.h"

#include <array>
#include <atomic>

#include "tests/unit/backends/cuda/testing.h"

namespace acceld {
namespace {

using Bytes = std::vector<std::uint8_t>;

TEST_F(CudaDeviceTest, DescribesItsCard) {
  EXPECT_EQ(device_->info().kind, BackendKind::kCuda);
  EXPECT_EQ(device_->info(), card_->info());
  EXPECT_EQ(device_->memory().total_bytes, device_->info().total_memory_bytes);
  EXPECT_FALSE(device_->has_mappable_memory());
}

TEST_F(CudaDeviceTest, InitIsIdempotent) {
  EXPECT_THAT(device_->Init(), IsOk());
  EXPECT_EQ(card_->calls("Init"), 1);
}

TEST(CudaDeviceInit, MayBeTriedAgainWhereItFailed) {
  std::unique_ptr<FakeCudaDriver> driver = MakeFakeCudaDriver();
  FakeCudaDriver& card = *driver;
  const std::unique_ptr<Device> device = cuda::MakeCudaDevice(std::move(driver));
  for (const char* call : {"Init", "CreateStream", "CreateEvent"}) {
    card.FailCall(call, 1, kDriverFailure);
    EXPECT_THAT(device->Init(), IsStatus(absl::StatusCode::kInternal, "cudaErrorUnknown"));
  }
  EXPECT_THAT(device->Init(), IsOk());
}

TEST_F(CudaDeviceTest, ReturnsBeforeTheWorkIsDone) {
  std::byte* const data = Allocate(256);
  card_->Hold();
  const Submitted fill = Fill(data, 7, 256);
  Bytes bytes(256);
  const Submitted read = Read(bytes, data);
  card_->WaitForCalls("CopyToHost", 1);
  EXPECT_EQ(bytes, Bytes(256));
  card_->Release();
  EXPECT_THAT(fill.Status(), IsOk());
  EXPECT_THAT(read.Status(), IsOk());
  EXPECT_EQ(bytes, Bytes(256, 7));
  device_->Release(data, 256);
}

TEST_F(CudaDeviceTest, CompletesAQueueInItsOrder) {
  std::byte* const data = Allocate(1);
  constexpr int kCount = 100;
  const std::array<Work, 2> work{
      Op(ops::Memset{.target = reinterpret_cast<Address>(data), .value = 1, .bytes = 1}),
      Op(ops::Memset{.target = reinterpret_cast<Address>(data), .value = 2, .bytes = 0})};
  std::atomic<int> next{0};
  const Waiter<bool> last;
  for (int i = 0; i < kCount; ++i) {
    device_->Submit(queue_, work[i % 2], [&, i](const WorkResult& result) {
      EXPECT_THAT(result.status, IsOk());
      EXPECT_EQ(next++, i);
      if (i == kCount - 1) last(true);
    });
  }
  EXPECT_TRUE(last.Wait());
  device_->Release(data, 1);
}

TEST_F(CudaDeviceTest, TakesWorkFromWhereWorkIsDone) {
  std::byte* const data = Allocate(1);
  const Work work =
      Op(ops::Memset{.target = reinterpret_cast<Address>(data), .value = 1, .bytes = 1});
  const Waiter<bool> last;
  device_->Submit(queue_, work, [&](const WorkResult&) {
    device_->Submit(queue_, work, [&](const WorkResult&) { last(true); });
  });
  EXPECT_TRUE(last.Wait());
  device_->Release(data, 1);
}

TEST_F(CudaDeviceTest, MeasuresWhatTheCardWorked) {
  std::byte* const data = Allocate(256);
  card_->Hold();
  const Submitted first = Fill(data, 1, 256);
  const Submitted second = Fill(data, 2, 256);
  card_->Release();
  const WorkResult result = first.Wait();
  EXPECT_EQ(result.device_time, std::chrono::microseconds(1));
  EXPECT_LE(result.finished, std::chrono::steady_clock::now());
  const WorkResult next = second.Wait();
  EXPECT_EQ(next.device_time, std::chrono::microseconds(1));
  // By the card's clock.
  EXPECT_EQ(next.finished - result.finished, std::chrono::microseconds(1));
  device_->Release(data, 256);
}

TEST_F(CudaDeviceTest, PassesPrioritiesOn) {
  NewQueue(5);
  NewQueue(-3);
  EXPECT_THAT(card_->priorities(), testing::IsSupersetOf({5, -3}));
}

TEST_F(CudaDeviceTest, DestroysAQueueWhenItsWorkIsDone) {
  std::byte* const data = Allocate(256);
  const DeviceQueue queue = NewQueue(42);
  card_->Hold();
  const Submitted fill = Fill(queue, data, 1, 256);
  device_->DestroyQueue(queue);
  EXPECT_THAT(card_->priorities(), testing::Contains(42));
  card_->Release();
  EXPECT_THAT(fill.Status(), IsOk());
  device_->Release(data, 256);
  device_.reset();  // The fake reports a stream that is destroyed too early, or never.
}

TEST_F(CudaDeviceTest, FinishesItsWorkBeforeItEnds) {
  std::byte* const data = Allocate(4 << 20);
  const Bytes source(4 << 20, 9);
  const Submitted write = Write(data, source);
  const Submitted fill = Fill(data, 1, 1 << 20);
  Bytes read_back(4 << 20);
  const Submitted read = Read(read_back, data);
  const Work last = Op(ops::Memset{.target = reinterpret_cast<Address>(data), .bytes = 1});
  device_->Submit(queue_, last, [device = device_.get(), data](const WorkResult&) {
    device->Release(data, 4 << 20);
  });
  device_.reset();
  EXPECT_THAT(write.Status(), IsOk());
  EXPECT_THAT(fill.Status(), IsOk());
  EXPECT_THAT(read.Status(), IsOk());
}

TEST_F(CudaDeviceTest, HasPinnedHostMemoryThatReadsAsZero) {
  const absl::StatusOr<std::byte*> host = device_->AllocateHost(10000);
  ASSERT_THAT(host.status(), IsOk());
  EXPECT_EQ(
      Bytes(reinterpret_cast<std::uint8_t*>(*host), reinterpret_cast<std::uint8_t*>(*host) + 10000),
      Bytes(10000));
  std::byte* const data = Allocate(10000);
  std::fill_n(*host, 10000, std::byte{3});
  const HostToDevice write{.target = data, .source = *host, .bytes = 10000};
  EXPECT_THAT(Submitted(*device_, queue_, write).Status(), IsOk());
  EXPECT_EQ(card_->calls("AllocateHost"), 1);  // Nothing was staged.
  Bytes bytes(10000);
  EXPECT_THAT(Read(bytes, data).Status(), IsOk());
  EXPECT_EQ(bytes, Bytes(10000, 3));
  device_->ReleaseHost(*host, 10000);
  device_->Release(data, 10000);
}

TEST_F(CudaDeviceTest, AnErrorOfAnOpIsThatOpsAlone) {
  std::byte* const data = Allocate(256);
  card_->FailCall("Memset", 1, kDriverFailure);
  EXPECT_THAT(
      Fill(data, 1, 256).Status(),
      IsStatus(absl::StatusCode::kInternal, "cuda device 0: cudaCall: cudaErrorUnknown (odd)."));
  EXPECT_THAT(Fill(data, 2, 256).Status(), IsOk());
  device_->Release(data, 256);
}

}  // namespace
}  // namespace acceld
