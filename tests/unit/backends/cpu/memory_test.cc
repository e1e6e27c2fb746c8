// The device's memory: allocation, budget and workspace.
#include <thread>

#include "backends/cpu/context.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

CpuOptions WithLimit(std::uint64_t bytes) { return {.threads = 1, .memory_limit_bytes = bytes}; }

TEST(CpuMemory, IsZeroAndAligned) {
  TestDevice device;
  for (const std::uint64_t bytes : {1ul, 255ul, 257ul, 100'000ul, 3 * kMiB + 1}) {
    for (int i = 0; i < 2; ++i) {  // the second time perhaps where the first one was
      const auto data = device->Allocate(bytes, {});
      ASSERT_THAT(data.status(), IsOk());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*data) % 256, 0u);
      EXPECT_EQ(std::count(*data, *data + bytes, std::byte{0}), static_cast<std::int64_t>(bytes));
      std::fill(*data, *data + bytes, std::byte{1});
      device->Release(*data, bytes);
    }
  }
}

TEST(CpuMemory, CountsAgainstItsLimit) {
  TestDevice device(WithLimit(4 * kMiB));
  EXPECT_EQ(device->memory().total_bytes, 4 * kMiB);
  EXPECT_EQ(device->info().total_memory_bytes, 4 * kMiB);
  const auto data = device->Allocate(3 * kMiB, {});
  ASSERT_THAT(data.status(), IsOk());
  EXPECT_EQ(device->memory().free_bytes, kMiB);
  device->Release(*data, 3 * kMiB);
  EXPECT_EQ(device->memory().free_bytes, 4 * kMiB);
}

TEST(CpuMemory, BeyondItsLimitIsOutOfMemoryAndASmallerRequestWorks) {
  TestDevice device(WithLimit(4 * kMiB));
  const auto first = device->Allocate(3 * kMiB, {});
  ASSERT_THAT(first.status(), IsOk());
  const auto refused = device->Allocate(2 * kMiB, {});
  EXPECT_THAT(refused.status(), IsStatus(absl::StatusCode::kResourceExhausted,
                                         "The cpu device has no 2097152 bytes left: 3145728 of its "
                                         "limit of 4194304 bytes are in use."));
  EXPECT_EQ(GetReason(refused.status()), reason::kDeviceOutOfMemory);
  const auto second = device->Allocate(kMiB, {});
  EXPECT_THAT(second.status(), IsOk());
  device->Release(*first, 3 * kMiB);
  device->Release(*second, kMiB);
}

TEST(CpuMemory, OfAnySizeIsOutOfMemoryAndNotAnOverflow) {
  TestDevice limited(WithLimit(4 * kMiB));
  TestDevice unlimited(WithLimit(~std::uint64_t{0}));
  for (const std::uint64_t bytes : {~std::uint64_t{0}, ~std::uint64_t{0} - 254,
                                    std::uint64_t{1} << 63, (std::uint64_t{1} << 62) + 1}) {
    for (TestDevice* device : {&limited, &unlimited}) {
      EXPECT_THAT((*device)->Allocate(bytes, {}).status(),
                  IsStatus(absl::StatusCode::kResourceExhausted, std::to_string(bytes)));
      EXPECT_THAT((*device)->AllocateHost(bytes).status(),
                  IsStatus(absl::StatusCode::kResourceExhausted, std::to_string(bytes)));
    }
  }
  // Below every limit, but more than a process has addresses.
  EXPECT_THAT(unlimited->Allocate(std::uint64_t{1} << 60, {}).status(),
              IsStatus(absl::StatusCode::kResourceExhausted, "host"));
  EXPECT_EQ(unlimited->memory().free_bytes, unlimited->memory().total_bytes);
}

TEST(CpuMemory, IsNeverPromisedTwiceToThreadsThatRace) {
  TestDevice device(WithLimit(kMiB));
  constexpr std::uint64_t kBytes = 8192;
  std::vector<std::vector<std::byte*>> allocated(4);
  std::vector<std::thread> threads;
  for (auto& own : allocated) {
    threads.emplace_back([&device, &own] {
      for (int i = 0; i < 100; ++i) {
        if (const auto data = device->Allocate(kBytes, {}); data.ok()) own.push_back(*data);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::size_t count = 0;
  for (const auto& own : allocated) {
    count += own.size();
    for (std::byte* data : own) device->Release(data, kBytes);
  }
  EXPECT_EQ(count, kMiB / kBytes);
}

TEST(CpuMemory, OfTheHostIsAlignedAndNotCounted) {
  TestDevice device(WithLimit(4 * kMiB));
  const auto data = device->AllocateHost(100'000);
  ASSERT_THAT(data.status(), IsOk());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*data) % 256, 0u);
  EXPECT_EQ(device->memory().free_bytes, 4 * kMiB);
  device->ReleaseHost(*data, 100'000);
}

TEST(CpuContext, CountsWorkspaceBeyondTheKeptOneWhileTheOpRuns) {
  MemoryBudget budget(kMiB);
  std::vector<std::byte> kept(kKeptWorkspaceBytes);
  {
    CpuContext context(1, kept.data(), budget);
    EXPECT_THAT(context.Workspace(kKeptWorkspaceBytes - kMiB).status(), IsOk());
    EXPECT_EQ(budget.used_bytes(), 0u);
    const auto counted = context.Workspace(kMiB + 1);
    EXPECT_THAT(counted.status(), IsStatus(absl::StatusCode::kResourceExhausted, "1048577"));
    EXPECT_THAT(context.Workspace(kMiB).status(), IsOk());
    EXPECT_EQ(budget.used_bytes(), 0u);
    EXPECT_THAT(context.Workspace(1000).status(), IsOk());
    EXPECT_EQ(budget.used_bytes(), 1024u);
  }
  EXPECT_EQ(budget.used_bytes(), 0u);
}

TEST(CpuContext, GivesRangesThatShareNothing) {
  MemoryBudget budget(kMiB);
  std::vector<std::byte> kept(kKeptWorkspaceBytes);
  CpuContext context(1, kept.data(), budget);
  std::byte* const first = context.Workspace(1001).value();
  std::byte* const second = context.Workspace(1).value();
  EXPECT_GE(second, first + 1001);
  EXPECT_EQ((second - first) % 256, 0);
}

}  // namespace
}  // namespace acceld
