#include "backends/local/local_backend.h"

#include <random>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/faulty_device.h"
#include "tests/unit/backends/context/host_device.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

using ::testing::Each;

constexpr std::uint64_t kBytes = 16;

class LocalBackendTest : public ::testing::Test {
 protected:
  LocalBackendTest() {
    auto device = std::make_unique<FaultyDevice>(std::make_unique<HostDevice>());
    device_ = device.get();
    backend_ = std::make_unique<LocalBackend>(std::move(device));
  }
  void SetUp() override { ASSERT_THAT(backend_->Init(), IsOk()); }

  const absl::Status kFault = DeviceError("The device is on fire.");
  FaultyDevice* device_;
  std::unique_ptr<ComputeBackend> backend_;
};

class BeforeInitTest : public LocalBackendTest {
 protected:
  void SetUp() override {}
};

TEST_F(BeforeInitTest, EveryCallButTheDescriptionsIsNotInitialized) {
  std::array<std::byte, 4> host{};
  const absl::Status results[] = {
      backend_->Alloc(0).status(),
      backend_->Free(0),
      backend_->CopyHtoD(0, host),
      backend_->CopyHtoD(0, {}),
      backend_->CopyDtoH(absl::MakeSpan(host), 0),
      backend_->AllocHost(0).status(),
      backend_->FreeHost(nullptr),
      backend_->Map(0).status(),
      backend_->Unmap(0),
      backend_->Memset(0, 0, 0),
      backend_->CreateStream().status(),
      backend_->DestroyStream(kDefaultStream),
      backend_->CreateEvent().status(),
      backend_->DestroyEvent(Event{0}),
      backend_->RecordEvent(Event{0}),
      backend_->WaitEvent(kDefaultStream, Event{0}),
      backend_->QueryEvent(Event{0}).status(),
      backend_->SynchronizeEvent(Event{0}),
      backend_->ElapsedTime(Event{0}, Event{0}).status(),
      backend_->SynchronizeStream(kDefaultStream),
      backend_->Synchronize(),
  };
  EXPECT_THAT(results, Each(HasReason(reason::kNotInitialized)));
  EXPECT_FALSE(backend_->initialized());
  EXPECT_EQ(backend_->name(), "cpu");
  EXPECT_EQ(backend_->devices().size(), 1u);
}

TEST_F(BeforeInitTest, InitReturnsTheDevicesError) {
  device_->FailInit(kFault);
  EXPECT_EQ(backend_->Init(), kFault);
  EXPECT_FALSE(backend_->initialized());
  EXPECT_THAT(backend_->Synchronize(), HasReason(reason::kNotInitialized));
}

TEST_F(LocalBackendTest, InitIsIdempotent) {
  const Address a = *backend_->Alloc(kBytes);
  EXPECT_THAT(backend_->Init(), IsOk());
  EXPECT_TRUE(backend_->initialized());
  EXPECT_THAT(backend_->Free(a), IsOk());
}

TEST_F(LocalBackendTest, CopiesThereAndBack) {
  const Address a = *backend_->Alloc(kBytes);
  std::array<std::byte, kBytes> source;
  source.fill(std::byte{5});
  std::array<std::byte, kBytes> target{};
  EXPECT_THAT(backend_->CopyHtoD(a, source), IsOk());
  EXPECT_THAT(backend_->CopyDtoH(absl::MakeSpan(target), a), IsOk());
  EXPECT_EQ(target, source);
}

TEST_F(LocalBackendTest, CopyHtoDReturnsOnceTheSourceMayBeReused) {
  const Address a = *backend_->Alloc(kBytes);
  const Stream stream = *backend_->CreateStream();
  device_->CloseGate();
  std::array<std::byte, kBytes> bytes;
  bytes.fill(std::byte{5});
  std::thread writer([&] {
    EXPECT_THAT(backend_->CopyHtoD(a, bytes, stream), IsOk());
    bytes.fill(std::byte{6});
  });
  device_->WaitForHeld(1);
  EXPECT_EQ(bytes[0], std::byte{5});
  device_->OpenGate();
  writer.join();
  std::array<std::byte, kBytes> target{};
  EXPECT_THAT(backend_->CopyDtoH(absl::MakeSpan(target), a), IsOk());
  EXPECT_THAT(target, Each(std::byte{5}));
}

TEST_F(LocalBackendTest, CopiesOfHostMemoryThatNameAStreamReturnAtOnce) {
  const Address a = *backend_->Alloc(kBytes);
  const absl::Span<std::byte> host = *backend_->AllocHost(2 * kBytes);
  host[3] = std::byte{7};
  device_->CloseGate();
  EXPECT_THAT(backend_->CopyHtoD(a, host.first(kBytes), kDefaultStream), IsOk());
  EXPECT_THAT(backend_->CopyDtoH(host.last(kBytes), a, kDefaultStream), IsOk());
  EXPECT_EQ(host[kBytes + 3], std::byte{0});
  device_->OpenGate();
  EXPECT_THAT(backend_->SynchronizeStream(kDefaultStream), IsOk());
  EXPECT_EQ(host[kBytes + 3], std::byte{7});
}

TEST_F(LocalBackendTest, HostMemoryFreedAmidstItsCopiesReturnsAfterThem) {
  const Address a = *backend_->Alloc(kBytes);
  const absl::Span<std::byte> host = *backend_->AllocHost(kBytes);
  device_->CloseGate();
  EXPECT_THAT(backend_->CopyHtoD(a, host, kDefaultStream), IsOk());
  EXPECT_THAT(backend_->FreeHost(host.data()), IsOk());
  EXPECT_EQ(device_->live_host_bytes(), kBytes);
  EXPECT_THAT(backend_->FreeHost(host.data()), HasReason(reason::kUnknownAddress));
  device_->OpenGate();
  EXPECT_THAT(backend_->Synchronize(), IsOk());
  EXPECT_EQ(device_->live_host_bytes(), 0u);
}

TEST_F(LocalBackendTest, MemoryFreedAmidstItsWorkIsThereAgainAfterSynchronize) {
  const Address a = *backend_->Alloc(kBytes);
  EXPECT_THAT(backend_->Memset(a, 1, kBytes), IsOk());
  EXPECT_THAT(backend_->Free(a), IsOk());
  EXPECT_THAT(backend_->Synchronize(), IsOk());
  EXPECT_EQ(device_->live_bytes(), 0u);
}

TEST_F(LocalBackendTest, ACopyToTheHostReturnsAndClearsTheStreamsError) {
  const Address a = *backend_->Alloc(kBytes);
  std::array<std::byte, kBytes> host{};
  device_->FailSubmit(1, kFault);
  EXPECT_THAT(backend_->Memset(a, 1, kBytes), IsOk());
  EXPECT_THAT(backend_->CopyHtoD(a, host), IsOk());  // Leaves it.
  EXPECT_EQ(backend_->CopyDtoH(absl::MakeSpan(host), a), kFault);
  EXPECT_THAT(backend_->CopyDtoH(absl::MakeSpan(host), a), IsOk());
  EXPECT_THAT(backend_->Synchronize(), IsOk());
}

TEST_F(LocalBackendTest, ACopyToTheHostThatDoesNotWaitLeavesTheError) {
  const Address a = *backend_->Alloc(kBytes);
  const absl::Span<std::byte> host = *backend_->AllocHost(kBytes);
  device_->FailSubmit(1, kFault);
  EXPECT_THAT(backend_->Memset(a, 1, kBytes), IsOk());
  EXPECT_THAT(backend_->CopyDtoH(host, a, kDefaultStream), IsOk());
  EXPECT_EQ(backend_->SynchronizeStream(kDefaultStream), kFault);
  EXPECT_THAT(backend_->Synchronize(), IsOk());
}

TEST_F(LocalBackendTest, SynchronizationsReturnTheErrors) {
  const Address a = *backend_->Alloc(kBytes);
  const Event event = *backend_->CreateEvent();
  device_->FailSubmit(1, kFault);
  EXPECT_THAT(backend_->Memset(a, 1, kBytes), IsOk());
  EXPECT_THAT(backend_->RecordEvent(event), IsOk());
  EXPECT_EQ(backend_->SynchronizeEvent(event), kFault);
  EXPECT_EQ(backend_->QueryEvent(event).status(), kFault);
  EXPECT_EQ(backend_->Synchronize(), kFault);
  EXPECT_THAT(backend_->Synchronize(), IsOk());
}

TEST_F(LocalBackendTest, MapIsUnsupported) {
  const Address a = *backend_->Alloc(kBytes);
  EXPECT_THAT(backend_->Map(a).status(), HasReason(reason::kUnsupported));
  EXPECT_THAT(backend_->Unmap(a), HasReason(reason::kUnsupported));
  EXPECT_THAT(backend_->Alloc(1, {.mappable = true}).status(), HasReason(reason::kUnsupported));
}

TEST_F(LocalBackendTest, DescribesItsDevice) {
  const Address a = *backend_->Alloc(kBytes);
  const std::vector<DeviceInfo> devices = backend_->devices();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].total_memory_bytes - devices[0].free_memory_bytes.value(), kBytes);
  EXPECT_EQ(backend_->capabilities(), devices[0].capabilities);
  EXPECT_THAT(backend_->Free(a), IsOk());
}

// More than may be unfinished at a time, so that the caller waits for room.
TEST_F(LocalBackendTest, AFullQueueHoldsItsCallerAndLosesNothing) {
  constexpr int kOps = 10'000;
  const Address a = *backend_->Alloc(kBytes);
  device_->CloseGate();
  std::thread caller([&] {
    for (int i = 0; i < kOps; ++i) EXPECT_THAT(backend_->Memset(a, 1, 1), IsOk());
  });
  device_->WaitForHeld(1);
  device_->OpenGate();
  caller.join();
  EXPECT_THAT(backend_->Synchronize(), IsOk());
  EXPECT_EQ(device_->submits(), kOps);
}

TEST(LocalBackendThreadsTest, CanBeDestroyedAmidstWork) {
  for (int round = 0; round < 100; ++round) {
    auto device = std::make_unique<FaultyDevice>(std::make_unique<HostDevice>(2));
    LocalBackend local(std::move(device));
    ComputeBackend& backend = local;
    ASSERT_THAT(backend.Init(), IsOk());
    const Address a = *backend.Alloc(kBytes);
    const Event event = *backend.CreateEvent();
    const Stream other = *backend.CreateStream();
    for (int i = 0; i < 20; ++i) {
      ASSERT_THAT(backend.Memset(a, 1, kBytes), IsOk());
      ASSERT_THAT(backend.RecordEvent(event), IsOk());
      ASSERT_THAT(backend.WaitEvent(other, event), IsOk());
      ASSERT_THAT(backend.Memset(a, 1, kBytes, other), IsOk());
    }
  }
}

// What a thread wrote, and only that, comes back, while other threads do the same on streams that
// wait for one another at random.
TEST(LocalBackendThreadsTest, ThreadsNeitherDeadlockNorMixTheirData) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 500;
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  auto device = std::make_unique<FaultyDevice>(std::make_unique<HostDevice>(2));
  LocalBackend local(std::move(device));
  ComputeBackend& backend = local;
  ASSERT_THAT(backend.Init(), IsOk());
  std::vector<Event> events;
  for (int i = 0; i < 4; ++i) events.push_back(*backend.CreateEvent());

  const auto client = [&](unsigned thread) {
    std::mt19937 random(seed + thread);
    const Stream stream = *backend.CreateStream();
    const Address a = *backend.Alloc(kBytes);
    const Address b = *backend.Alloc(kBytes);
    const absl::Span<std::byte> pinned = *backend.AllocHost(kBytes);
    for (int i = 0; i < kRounds; ++i) {
      const std::byte value{static_cast<unsigned char>(random())};
      std::vector<std::byte> bytes(kBytes, value);
      EXPECT_THAT(backend.WaitEvent(stream, events[random() % events.size()]), IsOk());
      if (random() % 2 == 0) {
        EXPECT_THAT(backend.CopyHtoD(a, bytes, stream), IsOk());
      } else {
        EXPECT_THAT(backend.SynchronizeStream(stream), IsOk());
        std::fill(pinned.begin(), pinned.end(), value);
        EXPECT_THAT(backend.CopyHtoD(a, pinned, stream), IsOk());
      }
      EXPECT_THAT(backend.CopyDtoD(b, a, kBytes, stream), IsOk());
      EXPECT_THAT(backend.RecordEvent(events[random() % events.size()], stream), IsOk());
      EXPECT_THAT(backend.Memset(a, 0, kBytes, stream), IsOk());
      if (random() % 4 == 0) {
        EXPECT_THAT(backend.SynchronizeEvent(events[random() % events.size()]), IsOk());
      }
      EXPECT_THAT(backend.CopyDtoH(absl::MakeSpan(bytes), b, stream), IsOk());
      EXPECT_THAT(bytes, Each(value));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(client, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(backend.Synchronize(), IsOk());
}

// Two threads that submit without pause: none is kept for ever to work for the other.
TEST(LocalBackendThreadsTest, NoThreadIsKeptToWorkForAnother) {
  LocalBackend local(std::make_unique<HostDevice>());
  ComputeBackend& backend = local;
  ASSERT_THAT(backend.Init(), IsOk());
  const Address a = *backend.Alloc(kBytes);
  std::atomic<int> returned[2] = {0, 0};
  const auto client = [&](int thread) {
    // Goes on until the other has made its calls.
    for (int i = 0; i < 2000 || returned[1 - thread] < 2000; ++i) {
      EXPECT_THAT(backend.Memset(a, 1, kBytes), IsOk());
      ++returned[thread];
    }
  };
  std::thread first(client, 0);
  std::thread second(client, 1);
  first.join();
  second.join();
}

}  // namespace
}  // namespace acceld
