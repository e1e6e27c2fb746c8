#include "backends/null/null_device.h"

#include <algorithm>
#include <cstdint>

#include "backends/core/status.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

TEST(NullDevice, DescribesItself) {
  NullDevice device({.ordinal = 3, .memory_bytes = 4096});
  EXPECT_TRUE(device.Init().ok());
  EXPECT_EQ(device.info().name, "null");
  EXPECT_EQ(device.info().ordinal, 3);
  EXPECT_EQ(device.info().total_memory_bytes, 4096u);
  EXPECT_EQ(device.info().capabilities, Capabilities());
}

TEST(NullDevice, SupportsEveryOp) { EXPECT_TRUE(NullDevice().supported_ops().all()); }

TEST(NullDevice, AllocatesAlignedMemoryThatReadsAsZeroAndCanBeWritten) {
  NullDevice device;
  for (std::uint64_t bytes : {1u, 255u, 4097u, 1u << 20}) {
    const auto data = device.Allocate(bytes, {});
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*data) % 256, 0u);
    EXPECT_TRUE(std::all_of(*data, *data + bytes, [](std::byte b) { return b == std::byte{0}; }));
    std::fill(*data, *data + bytes, std::byte{0xff});
    device.Release(*data, bytes);
  }
}

TEST(NullDevice, RefusesMoreThanItsMemoryAndThenServesLess) {
  NullDevice device({.memory_bytes = 100});
  const auto first = device.Allocate(60, {});
  ASSERT_TRUE(first.ok());
  const absl::Status status = device.Allocate(41, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetReason(status), reason::kDeviceOutOfMemory);
  EXPECT_EQ(device.memory().free_bytes, 40u);
  const auto second = device.Allocate(40, {});
  ASSERT_TRUE(second.ok());
  device.Release(*first, 60);
  device.Release(*second, 40);
  EXPECT_EQ(device.memory().free_bytes, 100u);
}

TEST(NullDevice, RefusesASizeNearTheEndOf64Bits) {
  NullDevice device;
  const auto held = device.Allocate(1, {});
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(device.Allocate(~std::uint64_t{0}, {}).status().code(),
            absl::StatusCode::kResourceExhausted);
  device.Release(*held, 1);
}

TEST(NullDevice, HostMemoryIsNotCounted) {
  NullDevice device({.memory_bytes = 1024});
  const auto host = device.AllocateHost(1024);
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(device.memory().free_bytes, 1024u);
  device.ReleaseHost(*host, 1024);
}

TEST(NullDevice, RefusesHostMemoryBeyondItsSize) {
  NullDevice device({.memory_bytes = 1024});
  EXPECT_EQ(device.AllocateHost(1025).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(device.AllocateHost(~std::uint64_t{0}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(NullDevice, QueuesAreDistinct) {
  NullDevice device;
  const auto first = device.CreateQueue(0);
  const auto second = device.CreateQueue(0);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(*first, *second);
}

TEST(NullDevice, FinishesWorkInsideSubmitWithoutDoingIt) {
  NullDevice device;
  std::byte source{7};
  std::byte target{1};
  const Work work = HostToDevice{.target = &target, .source = &source, .bytes = 1};
  int calls = 0;
  device.Submit(DeviceQueue{0}, work, [&](const WorkResult& result) {
    ++calls;
    EXPECT_TRUE(result.status.ok());
    EXPECT_EQ(result.device_time.count(), 0);
    EXPECT_NE(result.finished.time_since_epoch().count(), 0);
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(target, std::byte{1});
}

TEST(NullDevice, LooksAtNoAddressOfAnOp) {
  NullDevice device;
  const Work work = Op(ops::Memset{.target = 1, .value = 0, .bytes = std::uint64_t{1} << 60});
  bool done = false;
  device.Submit(DeviceQueue{0}, work, [&](const WorkResult& result) { done = result.status.ok(); });
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace acceld
