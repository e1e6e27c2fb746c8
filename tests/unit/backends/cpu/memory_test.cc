// The device's memory: allocation, budget and workspace.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

#include "backends/cpu/context.h"
#include "backends/cpu/cpu_memory.h"
#include "backends/cpu/zeroed_memory.h"
#include "backends/memory/sealed_memory.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

CpuOptions WithLimit(std::uint64_t bytes) { return {.threads = 1, .memory_limit_bytes = bytes}; }

// How many bytes read as zero.
std::uint64_t Zeros(TestDevice& device, const std::byte* data, std::uint64_t bytes) {
  std::vector<std::byte> read(bytes, std::byte{1});
  EXPECT_THAT(device.Run(DeviceToHost{.target = read.data(), .source = data, .bytes = bytes}),
              IsOk());
  return static_cast<std::uint64_t>(std::count(read.begin(), read.end(), std::byte{0}));
}

TEST(CpuMemory, IsZeroAndAligned) {
  TestDevice device;
  for (const std::uint64_t bytes : {1ul, 255ul, 257ul, 100'000ul, 3 * kMiB + 1}) {
    for (int i = 0; i < 2; ++i) {  // the second time perhaps where the first one was
      const auto data = device->Allocate(bytes, {});
      ASSERT_THAT(data.status(), IsOk());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*data) % 256, 0u);
      EXPECT_EQ(Zeros(device, *data, bytes), bytes);
      std::fill(*data, *data + bytes, std::byte{1});
      device->Release(*data, bytes);
    }
  }
}

TEST(CpuMemory, OfSomeSizeStartsAtAHugePage) {
  for (const std::uint64_t bytes : {2 * kMiB, 3 * kMiB + 1, 4 * kMiB}) {
    std::byte* const first = AllocateZeroed(bytes);
    std::byte* const second = AllocateZeroed(bytes);
    for (std::byte* data : {first, second}) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % (2 * kMiB), 0u) << bytes;
      EXPECT_EQ(data[bytes - 1], std::byte{0});
      data[bytes - 1] = std::byte{1};
    }
    FreeZeroed(first, bytes);
    EXPECT_EQ(second[bytes - 1], std::byte{1});
    FreeZeroed(second, bytes);
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

TEST(CpuMemory, StaysWarmAndIsZeroAgain) {
  TestDevice device(WithLimit(64 * kMiB));
  for (const std::uint64_t bytes : {64 * 1024ul, 100'000ul, kMiB + 1000, 5 * kMiB}) {
    std::byte* const first = device->Allocate(bytes, {}).value();
    std::fill(first, first + bytes, std::byte{1});
    device->Release(first, bytes);
    EXPECT_EQ(device->memory().free_bytes, 64 * kMiB);
    // Of a size that differs little.
    std::byte* const second = device->Allocate(bytes - 100, {}).value();
    EXPECT_EQ(second, first) << bytes;
    EXPECT_EQ(Zeros(device, second, bytes - 100), bytes - 100);
    device->Release(second, bytes - 100);
  }
}

TEST(CpuMemory, ThatIsWarmIsGivenBackWhereItIsNeeded) {
  CpuMemory memory(8 * kMiB);
  const auto allocate = [&](std::uint64_t bytes, bool mappable = false) {
    return memory.Allocate(bytes, {.mappable = mappable}).value();
  };
  const auto warm_up = [&] { memory.Release(allocate(2 * kMiB), 2 * kMiB); };
  warm_up();
  EXPECT_EQ(memory.warm_bytes(), 2 * kMiB);
  std::byte* const used = allocate(6 * kMiB);
  EXPECT_EQ(memory.warm_bytes(), 2 * kMiB);
  memory.Release(allocate(1), 1);  // All that is not used may be warm, and no more.
  EXPECT_EQ(memory.warm_bytes(), 0u);
  warm_up();
  EXPECT_THAT(memory.budget().Reserve(1), IsOk());
  EXPECT_EQ(memory.warm_bytes(), 0u);
  memory.budget().Release(1);
  warm_up();
  memory.Release(allocate(kMiB, /*mappable=*/true), kMiB);
  EXPECT_EQ(memory.warm_bytes(), 0u);
  memory.Release(used, 6 * kMiB);
  EXPECT_EQ(memory.budget().used_bytes(), 0u);
}

TEST(CpuMemory, IsAllToBeHadWhateverIsWarm) {
  TestDevice device(WithLimit(8 * kMiB));
  std::byte* const warm = device->Allocate(2 * kMiB, {}).value();
  std::fill(warm, warm + 2 * kMiB, std::byte{1});
  device->Release(warm, 2 * kMiB);
  std::byte* const all = device->Allocate(8 * kMiB, {}).value();
  EXPECT_EQ(std::count(all, all + 8 * kMiB, std::byte{0}), static_cast<std::int64_t>(8 * kMiB));
  device->Release(all, 8 * kMiB);
}

// Threads that use the same few sizes, more than may be warm, and now and then a mappable one. All
// are small enough to be zeroed at once.
TEST(CpuMemory, IsOneThreadsAtATimeAndZeroWhoeverHadItBefore) {
  CpuMemory memory(2 * kMiB);
  std::vector<std::thread> threads;
  for (int thread = 1; thread <= 4; ++thread) {
    threads.emplace_back([&memory, mine = static_cast<std::byte>(thread)] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        const std::uint64_t bytes = 64 * 1024 * (1 + i % 3);
        const auto data = memory.Allocate(bytes, {.mappable = i % 16 == 15});
        ASSERT_THAT(data.status(), IsOk());
        ASSERT_EQ(std::count(*data, *data + bytes, std::byte{0}), static_cast<std::int64_t>(bytes));
        std::fill(*data, *data + bytes, mine);
        std::this_thread::yield();
        ASSERT_EQ(std::count(*data, *data + bytes, mine), static_cast<std::int64_t>(bytes));
        memory.Release(*data, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.budget().used_bytes(), 0u);
  EXPECT_LE(memory.warm_bytes(), kMiB / 2);
}

TEST(CpuMemory, ThatIsMappableIsAFileOfItsOwn) {
  TestDevice device(WithLimit(kMiB));
  ASSERT_TRUE(device->has_mappable_memory());
  std::byte* const data = device->Allocate(5000, {.mappable = true}).value();
  EXPECT_EQ(device->memory().free_bytes, kMiB - 8192);
  const absl::StatusOr<int> descriptor = device->MappableFile(data);
  ASSERT_THAT(descriptor.status(), IsOk());
  {
    const auto opened = SealedMemory::Open(dup(*descriptor), 5000);
    ASSERT_THAT(opened.status(), IsOk());
    data[4999] = std::byte{3};
    EXPECT_EQ(opened->data()[4999], std::byte{3});
  }
  device->Release(data, 5000);
  EXPECT_EQ(device->memory().free_bytes, kMiB);
  EXPECT_THAT(device->MappableFile(data).status(), HasReason(reason::kUnsupported));
}

// Whoever mapped it may see what is written there for ever.
TEST(CpuMemory, ThatIsMappableIsNeverUsedAgain) {
  TestDevice device(WithLimit(16 * kMiB));
  std::byte* const data = device->Allocate(kMiB, {.mappable = true}).value();
  const auto kept = SealedMemory::Open(dup(device->MappableFile(data).value()), kMiB);
  ASSERT_THAT(kept.status(), IsOk());
  device->Release(data, kMiB);
  for (const bool mappable : {true, false}) {
    std::byte* const other = device->Allocate(kMiB, {.mappable = mappable}).value();
    std::fill(other, other + kMiB, std::byte{9});
    device->Release(other, kMiB);
  }
  EXPECT_EQ(std::count(kept->data(), kept->data() + kMiB, std::byte{0}),
            static_cast<std::int64_t>(kMiB));
}

TEST(CpuMemory, ThatIsMappableCountsAgainstTheLimit) {
  TestDevice device(WithLimit(kMiB));
  for (const std::uint64_t bytes : {kMiB + 1, ~std::uint64_t{0}}) {
    EXPECT_THAT(device->Allocate(bytes, {.mappable = true}).status(),
                IsStatus(absl::StatusCode::kResourceExhausted, std::to_string(bytes)));
  }
  std::byte* const data = device->Allocate(kMiB, {.mappable = true}).value();
  EXPECT_THAT(device->Allocate(1, {.mappable = true}).status(),
              IsStatus(absl::StatusCode::kResourceExhausted, "4096 bytes"));
  device->Release(data, kMiB);
  EXPECT_EQ(device->memory().free_bytes, kMiB);
}

TEST(CpuMemory, ThatIsMappableLeavesDescriptorsToOthers) {
  TestDevice device(WithLimit(kMiB));
  rlimit former;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &former), 0);
  rlimit few = former;
  few.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<std::byte*> all;
  absl::Status refused;
  while (refused.ok() && all.size() < 64) {
    const auto data = device->Allocate(1, {.mappable = true});
    refused = data.status();
    if (data.ok()) all.push_back(*data);
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &former), 0);
  EXPECT_THAT(refused, IsStatus(absl::StatusCode::kResourceExhausted,
                                "has 16 mappable allocations already"));
  EXPECT_THAT(refused, HasReason(reason::kLimitExceeded));
  EXPECT_EQ(all.size(), 16u);
  for (std::byte* data : all) device->Release(data, 1);
  EXPECT_EQ(device->memory().free_bytes, kMiB);
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
  MemoryBudget budget("The cpu device", kMiB);
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
  MemoryBudget budget("The cpu device", kMiB);
  std::vector<std::byte> kept(kKeptWorkspaceBytes);
  CpuContext context(1, kept.data(), budget);
  std::byte* const first = context.Workspace(1001).value();
  std::byte* const second = context.Workspace(1).value();
  EXPECT_GE(second, first + 1001);
  EXPECT_EQ((second - first) % 256, 0);
}

}  // namespace
}  // namespace acceld
