// From making a backend to its end, and what it says of itself.
#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

using LifecycleTest = ConformanceTest;

TEST_F(LifecycleTest, ReachesTheDeviceAsThisSuiteMeansTo) {
  EXPECT_EQ(ObservedTransport(backend()), ExpectedTransport());
}

TEST_F(LifecycleTest, IsInitializedByInitOnly) {
  const std::unique_ptr<ComputeBackend> fresh = MakeBackend();
  EXPECT_FALSE(fresh->initialized());
  ASSERT_TRUE(IsOk(fresh->Init()));
  EXPECT_TRUE(fresh->initialized());
}

TEST_F(LifecycleTest, InitAgainChangesNothing) {
  const std::vector<float> values = {1, 2, 3};
  const Address address = Upload(values);
  ASSERT_TRUE(IsOk(backend().Init()));
  ASSERT_TRUE(IsOk(backend().Init()));
  EXPECT_TRUE(backend().initialized());
  EXPECT_EQ(Floats(address, 3), values);
}

TEST_F(LifecycleTest, InitFromManyThreadsIsOneInit) {
  const std::unique_ptr<ComputeBackend> fresh = MakeBackend();
  std::array<absl::Status, 8> statuses;
  std::vector<std::thread> threads;
  for (absl::Status& status : statuses) threads.emplace_back([&] { status = fresh->Init(); });
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) EXPECT_TRUE(IsOk(status));
  EXPECT_TRUE(IsOk(fresh->Alloc(64)));
}

TEST_F(LifecycleTest, EndsWithoutInit) {
  const std::unique_ptr<ComputeBackend> fresh = MakeBackend();
  EXPECT_NE(fresh, nullptr);
}

// Whatever they say before Init, they can be asked.
TEST_F(LifecycleTest, CanBeDescribedBeforeInit) {
  const std::unique_ptr<ComputeBackend> fresh = MakeBackend();
  fresh->name();
  fresh->capabilities();
  fresh->devices();
  fresh->RecommendedTile(64, 64, 64);
  EXPECT_FALSE(fresh->initialized());
}

TEST_F(LifecycleTest, IsNamedByItsKind) {
  const std::optional<BackendKind> kind = Parse<BackendKind>(backend().name());
  ASSERT_TRUE(kind.has_value()) << backend().name();
  EXPECT_EQ(backend().name(), Name(*kind));
  EXPECT_EQ(backend().devices().at(0).kind, *kind);
}

TEST_F(LifecycleTest, DescribesItsDevices) {
  const std::vector<DeviceInfo> devices = backend().devices();
  ASSERT_FALSE(devices.empty());
  for (const DeviceInfo& device : devices) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_FALSE(device.uuid.empty());
    EXPECT_GE(device.ordinal, 0);
    EXPECT_TRUE(IsValid(device.memory_kind));
    EXPECT_GT(device.total_memory_bytes, 0u);
    ASSERT_TRUE(device.free_memory_bytes.has_value());
    EXPECT_LE(*device.free_memory_bytes, device.total_memory_bytes);
    EXPECT_GE(device.capabilities.warp_size, 1);
    EXPECT_GE(device.capabilities.max_threads_per_block, 1);
    EXPECT_GT(device.capabilities.max_shared_memory_per_block_bytes, 0);
  }
  EXPECT_EQ(devices[0].capabilities, backend().capabilities());
}

TEST_F(LifecycleTest, DescribesACpuByTheHostProfile) {
  if (backend().name() == Name(BackendKind::kCpu)) {
    EXPECT_EQ(backend().capabilities(), Capabilities{});
    EXPECT_EQ(backend().devices().at(0).memory_kind, MemoryKind::kHost);
    EXPECT_EQ(backend().devices().at(0).compute_capability_major, 0);
  } else {
    EXPECT_NE(backend().devices().at(0).kind, BackendKind::kCpu);
  }
}

TEST_F(LifecycleTest, ShowsLessFreeMemoryWhileSomeIsAllocated) {
  const auto free_bytes = [&] {
    EXPECT_TRUE(IsOk(backend().Synchronize()));
    return FreeMemoryBytes();
  };
  constexpr std::uint64_t kBytes = 4 * kFreeMemorySlackBytes;
  const std::uint64_t before = free_bytes();
  const Address address = Alloc(kBytes);
  EXPECT_LE(free_bytes() + kBytes, before + FreeMemorySlackBytes());
  ASSERT_TRUE(IsOk(backend().Free(address)));
  EXPECT_GE(free_bytes() + FreeMemorySlackBytes(), before);
}

TEST_F(LifecycleTest, RecommendsTilesByTheSmallestSize) {
  struct Case {
    std::array<std::int64_t, 3> size;
    Tile cpu;
  };
  for (const auto& [size, cpu] :
       {Case{{1, 1000, 1000}, {16, 16, 16}}, Case{{64, 64, 64}, {16, 16, 16}},
        Case{{65, 70, 80}, {64, 64, 16}}, Case{{2048, 512, 512}, {64, 64, 16}},
        Case{{513, 513, 513}, {128, 128, 8}}, Case{{4096, 4096, 4096}, {128, 128, 8}}}) {
    const Tile tile = backend().RecommendedTile(size[0], size[1], size[2]);
    EXPECT_GT(tile.m * tile.n * tile.k, 0);
    // A device with tensor cores, or with numbers of its own, may differ.
    if (backend().name() != Name(BackendKind::kCpu)) continue;
    EXPECT_EQ(tile, cpu) << size[0];
  }
}

TEST_F(LifecycleTest, EndsWithMemoryAndWorkPending) {
  const Stream stream = NewStream();
  const Event event = NewEvent();
  const Address address = Alloc(1 << 20);
  KeepBusy(stream, 3);
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, stream)));
  const Stream waiting = NewStream();
  ASSERT_TRUE(IsOk(backend().WaitEvent(waiting, event)));
  ASSERT_TRUE(IsOk(backend().Memset(address, 1, 1 << 20, waiting)));
  ASSERT_TRUE(IsOk(backend().AllocHost(100)));
  EndBackend();
}

TEST_F(LifecycleTest, KeepsTwoBackendsApart) {
  const std::unique_ptr<ComputeBackend> other = MakeBackend();
  ASSERT_TRUE(IsOk(other->Init()));
  const std::vector<float> mine = random_.Floats(100);
  const std::vector<float> theirs = random_.Floats(100);
  const Address my_address = Upload(mine);
  const absl::StatusOr<Address> their_address = other->Alloc(400);
  ASSERT_TRUE(IsOk(their_address));
  ASSERT_TRUE(IsOk(other->CopyHtoD(*their_address, AsBytes(theirs))));
  EXPECT_TRUE(SameBits(Floats(my_address, 100), mine));
  std::vector<float> found(100);
  ASSERT_TRUE(IsOk(other->CopyDtoH(AsWritableBytes(found), *their_address)));
  EXPECT_TRUE(SameBits(found, theirs));
}

TEST_F(LifecycleTest, OutlivesAnotherBackend) {
  const Address address = Upload(std::vector<float>{4});
  {
    const std::unique_ptr<ComputeBackend> other = MakeBackend();
    ASSERT_TRUE(IsOk(other->Init()));
    ASSERT_TRUE(IsOk(other->Alloc(1 << 20)));
    ASSERT_TRUE(IsOk(other->CreateStream()));
  }
  EXPECT_EQ(Floats(address, 1)[0], 4);
  ASSERT_TRUE(
      IsOk(backend().Unary({.op = UnaryOp::kSqrt, .n = 1, .input = address, .output = address})));
  EXPECT_EQ(Floats(address, 1)[0], 2);
}

// What one backend held must not show in another.
TEST_F(LifecycleTest, ReadsAsZeroWhatAnotherBackendLeft) {
  const std::size_t bytes = 1 << 20;
  for (int i = 0; i < 3; ++i) {
    const std::unique_ptr<ComputeBackend> other = MakeBackend();
    ASSERT_TRUE(IsOk(other->Init()));
    const absl::StatusOr<Address> address = other->Alloc(bytes);
    ASSERT_TRUE(IsOk(address));
    std::vector<std::uint8_t> found(bytes, 1);
    ASSERT_TRUE(IsOk(other->CopyDtoH(AsWritableBytes(found), *address)));
    EXPECT_EQ(std::count(found.begin(), found.end(), 0), static_cast<std::ptrdiff_t>(bytes));
    ASSERT_TRUE(IsOk(other->Memset(*address, 0xff, bytes)));
    ASSERT_TRUE(IsOk(other->Synchronize()));
  }
}

// Code that holds a ComputeBackend& and nothing else.
TEST_F(LifecycleTest, IsPassedOnByReference) {
  const auto twice = [](ComputeBackend& any, Address x) {
    return any.Binary({.op = BinaryOp::kAdd, .n = 1, .a = x, .b = x, .output = x});
  };
  const Address x = Upload(std::vector<float>{21});
  ASSERT_TRUE(IsOk(twice(backend(), x)));
  EXPECT_EQ(Floats(x, 1)[0], 42);
}

}  // namespace
}  // namespace acceld::conformance
