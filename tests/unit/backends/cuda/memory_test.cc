#include <string>
#include <thread>

#include "backends/core/status.h"
#include "tests/unit/backends/cuda/testing.h"

namespace acceld {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kMiB = 1 << 20;

// On a card of 64 MiB.
using CudaMemoryTest = CudaDeviceTest;

TEST_F(CudaMemoryTest, FreshMemoryReadsAsZeroInEveryQueue) {
  for (const DeviceQueue queue : {queue_, NewQueue()}) {
    for (int i = 0; i < 3; ++i) {
      std::byte* const data = Allocate(1000);
      Bytes bytes(1000, 1);
      EXPECT_THAT(Read(queue, bytes, data).Status(), IsOk());
      EXPECT_EQ(bytes, Bytes(1000));
      EXPECT_THAT(Fill(queue, data, 9, 1000).Status(), IsOk());
      device_->Release(data, 1000);
    }
  }
}

TEST_F(CudaMemoryTest, WaitsForFreshMemoryOnce) {
  std::byte* const data = Allocate(256);
  EXPECT_THAT(Fill(data, 1, 256).Status(), IsOk());
  EXPECT_THAT(Fill(data, 2, 256).Status(), IsOk());
  EXPECT_EQ(card_->calls("Wait"), 1);
  device_->Release(data, 256);
}

TEST_F(CudaMemoryTest, ReleasedMemoryStaysInThePoolAndIsUsedAgain) {
  device_->Release(Allocate(40 * kMiB), 40 * kMiB);
  std::byte* const data = Allocate(kMiB);
  EXPECT_THAT(Fill(data, 1, kMiB).Status(), IsOk());
  EXPECT_EQ(card_->pool_bytes(), 41 * kMiB);
  EXPECT_EQ(device_->memory().free_bytes, 63 * kMiB);
  std::byte* const again = Allocate(40 * kMiB);
  EXPECT_EQ(card_->calls("TrimPool"), 0);
  device_->Release(again, 40 * kMiB);
  device_->Release(data, kMiB);
}

TEST_F(CudaMemoryTest, TrimsThePoolOnceWhereThereIsNoMoreMemory) {
  device_->Release(Allocate(40 * kMiB), 40 * kMiB);
  std::byte* const data = Allocate(50 * kMiB);
  EXPECT_EQ(card_->calls("TrimPool"), 1);
  EXPECT_EQ(card_->pool_bytes(), 50 * kMiB);
  device_->Release(data, 50 * kMiB);
}

// Ends only where neither waits for the trimming.
TEST_F(CudaMemoryTest, WhileThePoolIsTrimmedOtherMemoryIsUsedAndReleased) {
  std::byte* const before = Allocate(256);
  card_->FailCall("Allocate", 1, kDriverOutOfMemory);
  card_->HoldCalls("TrimPool");
  std::byte* data = nullptr;
  std::thread allocator([&] { data = Allocate(256); });
  card_->WaitForCalls("TrimPool", 1);
  EXPECT_THAT(Fill(before, 1, 256).Status(), IsOk());
  device_->Release(before, 256);
  card_->ReleaseCalls();
  allocator.join();
  device_->Release(data, 256);
}

// Others use the card, too.
TEST_F(CudaMemoryTest, IsOutOfMemoryWhereTrimmingDoesNotHelpAndServesTheNextSmallerRequest) {
  for (const int call : {1, 2}) card_->FailCall("Allocate", call, kDriverOutOfMemory);
  EXPECT_THAT(device_->Allocate(30 * kMiB, {}).status(),
              IsStatus(absl::StatusCode::kResourceExhausted,
                       "An allocation of 31457280 bytes exceeds what cuda device 0 (fake card) "
                       "has: 67108864 bytes free of 67108864."));
  EXPECT_EQ(card_->calls("TrimPool"), 1);
  EXPECT_EQ(card_->calls("Allocate"), 2);
  EXPECT_EQ(device_->memory().free_bytes, 64 * kMiB);
  device_->Release(Allocate(20 * kMiB), 20 * kMiB);
}

TEST_F(CudaMemoryTest, RefusesMoreThanTheCardHas) {
  for (const std::uint64_t bytes : {65 * kMiB, ~std::uint64_t{0}}) {
    EXPECT_THAT(device_->Allocate(bytes, {}).status(),
                IsStatus(absl::StatusCode::kResourceExhausted,
                         "cuda device 0 has no " + std::to_string(bytes) +
                             " bytes left: 0 of its limit of 67108864 bytes are in use."));
  }
  EXPECT_EQ(card_->calls("Allocate"), 0);
}

TEST_F(CudaMemoryTest, ReportsWhatElseFails) {
  for (const char* call : {"Allocate", "Memset", "Record"}) {
    card_->FailCall(call, 1, kDriverFailure);
    EXPECT_THAT(device_->Allocate(256, {}).status(),
                IsStatus(absl::StatusCode::kInternal, "cudaErrorUnknown (odd)"))
        << call;
  }
  std::byte* const data = Allocate(kMiB);
  EXPECT_THAT(Fill(data, 1, kMiB).Status(), IsOk());
  EXPECT_EQ(device_->memory().free_bytes, 63 * kMiB);
  device_->Release(data, kMiB);
  card_->FailCall("AllocateHost", 1, kDriverOutOfMemory);
  EXPECT_THAT(device_->AllocateHost(1 << 20).status(),
              IsStatus(absl::StatusCode::kResourceExhausted, "cudaErrorMemory (full)"));
}

// ---- With a limit of 16 MiB ----

class CudaMemoryLimitTest : public CudaDeviceTest {
 protected:
  CudaMemoryLimitTest() : CudaDeviceTest(64 * kMiB, {.memory_limit_bytes = 16 * kMiB}) {}

  Address AddressOf(const std::byte* data) const { return reinterpret_cast<Address>(data); }

  // A product of two numbers; its workspace is the fake card's.
  Op ProductOf(std::byte* data) const {
    return ops::Gemm{.m = 1,
                     .n = 1,
                     .k = 1,
                     .a = AddressOf(data),
                     .lda = 1,
                     .b = AddressOf(data),
                     .ldb = 1,
                     .c = AddressOf(data + 4),
                     .ldc = 1};
  }
  Submitted Multiply(DeviceQueue queue, std::byte* data) {
    return Submitted(*device_, queue, ProductOf(data));
  }

  const std::uint64_t workspace_bytes_ = card_->GemmWorkspaceBytes();
};

TEST_F(CudaMemoryLimitTest, TheDeviceHasThatMuch) {
  EXPECT_EQ(device_->info().total_memory_bytes, 16 * kMiB);
  EXPECT_EQ(device_->memory().total_bytes, 16 * kMiB);
  EXPECT_EQ(device_->memory().free_bytes, 16 * kMiB);
}

TEST_F(CudaMemoryLimitTest, ALimitBeyondTheCardIsTheCards) {
  EXPECT_EQ(cuda::Limited(device_->info(), {.memory_limit_bytes = 17 * kMiB}).total_memory_bytes,
            16 * kMiB);
}

TEST_F(CudaMemoryLimitTest, BeyondItIsOutOfMemoryAndTheNextSmallerRequestWorks) {
  std::byte* const first = Allocate(10 * kMiB);
  EXPECT_EQ(device_->memory().free_bytes, 6 * kMiB);
  const absl::Status refused = device_->Allocate(6 * kMiB + 1, {}).status();
  EXPECT_THAT(refused, IsStatus(absl::StatusCode::kResourceExhausted,
                                "cuda device 0 has no 6291457 bytes left: 10485760 of its limit of "
                                "16777216 bytes are in use."));
  EXPECT_THAT(refused, HasReason(reason::kDeviceOutOfMemory));
  std::byte* const second = Allocate(6 * kMiB);
  EXPECT_EQ(device_->memory().free_bytes, 0u);
  device_->Release(first, 10 * kMiB);
  device_->Release(second, 6 * kMiB);
  EXPECT_EQ(device_->memory().free_bytes, 16 * kMiB);
}

TEST_F(CudaMemoryLimitTest, WorkspaceCountsOnceForAQueueUntilTheHostHasSeenItDone) {
  std::byte* const data = Allocate(kMiB);
  const DeviceQueue other = NewQueue();
  card_->Hold();
  const Submitted first = Multiply(queue_, data);
  const Submitted second = Multiply(queue_, data);
  EXPECT_EQ(device_->memory().free_bytes, 15 * kMiB - workspace_bytes_);
  const Submitted third = Multiply(other, data + 256);
  EXPECT_EQ(device_->memory().free_bytes, 15 * kMiB - 2 * workspace_bytes_);
  card_->Release();
  for (const Submitted* work : {&first, &second, &third}) EXPECT_THAT(work->Status(), IsOk());
  EXPECT_EQ(device_->memory().free_bytes, 15 * kMiB);
  device_->Release(data, kMiB);
}

TEST_F(CudaMemoryLimitTest, AnOpWhoseWorkspaceDoesNotFitIsOutOfMemoryAndTheNextOneRuns) {
  const std::uint64_t bytes = 16 * kMiB - workspace_bytes_ + 256;
  std::byte* const data = Allocate(bytes);
  EXPECT_THAT(
      Multiply(queue_, data).Status(),
      IsStatus(absl::StatusCode::kResourceExhausted,
               "cuda device 0 has no 4096 bytes left: 16773376 of its limit of 16777216 bytes"));
  EXPECT_THAT(Fill(data, 1, 256).Status(), IsOk());
  device_->Release(data, bytes);
  std::byte* const less = Allocate(bytes - 256);
  EXPECT_THAT(Multiply(queue_, less).Status(), IsOk());
  EXPECT_EQ(device_->memory().free_bytes, workspace_bytes_);
  device_->Release(less, bytes - 256);
}

TEST_F(CudaMemoryLimitTest, TheOpsOfAProgramWithoutAGraphTakeTheWorkspaceOfOne) {
  std::byte* const data = Allocate(kMiB);
  const Op gather = ops::Gather{.rows = 1,
                                .columns = 1,
                                .indices = {0},
                                .table = AddressOf(data),
                                .output = AddressOf(data + 4)};
  const auto program =
      device_->MakeProgram({gather, ProductOf(data), ProductOf(data), gather, ProductOf(data)});
  const DeviceProgram* const work = program.get();
  for (int i = 0; i < 2; ++i) {
    card_->FailCall("BeginCapture", 1, kDriverFailure);
    EXPECT_THAT(Submitted(*device_, queue_, work).Status(), IsOk());
  }
  card_->Hold();
  const Submitted run(*device_, queue_, work);
  card_->WaitForCalls("Gemm", 3 * 3);
  EXPECT_EQ(device_->memory().free_bytes, 15 * kMiB - workspace_bytes_);
  card_->Release();
  EXPECT_THAT(run.Status(), IsOk());
  EXPECT_EQ(device_->memory().free_bytes, 15 * kMiB);
  // Nor is it out of memory beside that.
  std::byte* const rest = Allocate(15 * kMiB - workspace_bytes_);
  EXPECT_THAT(Submitted(*device_, queue_, work).Status(), IsOk());
  device_->Release(rest, 15 * kMiB - workspace_bytes_);
  device_->Release(data, kMiB);
}

TEST_F(CudaMemoryLimitTest, WhereACaptureFailsTheOpsHaveTheMemoryThatItsGraphHad) {
  const std::uint64_t bytes = 16 * kMiB - workspace_bytes_;
  std::byte* const data = Allocate(bytes);
  for (const char* call : {"BeginCapture", "EndCapture"}) {
    const auto program = device_->MakeProgram({ProductOf(data), ProductOf(data)});
    const DeviceProgram* const work = program.get();
    card_->FailCall(call, 1, kDriverFailure);
    EXPECT_THAT(Submitted(*device_, queue_, work).Status(), IsOk()) << call;
    EXPECT_EQ(device_->memory().free_bytes, workspace_bytes_);
  }
  device_->Release(data, bytes);
}

// What runs in other queues makes no op fail: their workspace is waited for.
TEST_F(CudaMemoryLimitTest, WorkspaceOfOtherQueuesMakesNoOpFailAndNoAllocation) {
  const std::uint64_t bytes = 16 * kMiB - workspace_bytes_;
  std::byte* const data = Allocate(bytes);
  const DeviceQueue other = NewQueue();
  card_->Hold();
  const Submitted first = Multiply(queue_, data);
  EXPECT_EQ(card_->calls("TrimPool"), 0);
  const Submitted second = Multiply(other, data + 256);
  card_->WaitForCalls("Gemm", 2);
  EXPECT_EQ(card_->calls("TrimPool"), 1);
  EXPECT_EQ(device_->memory().free_bytes, 0u);
  std::byte* const last = Allocate(workspace_bytes_);
  EXPECT_EQ(card_->calls("TrimPool"), 2);
  card_->Release();
  for (const Submitted* work : {&first, &second}) EXPECT_THAT(work->Status(), IsOk());
  device_->Release(data, bytes);
  device_->Release(last, workspace_bytes_);
  EXPECT_EQ(device_->memory().free_bytes, 16 * kMiB);
}

TEST_F(CudaMemoryLimitTest, GraphsCountAndGoForAClientsMemory) {
  std::byte* const data = Allocate(kMiB);
  const auto program = device_->MakeProgram({ProductOf(data), ProductOf(data)});
  const DeviceProgram* const work = program.get();
  EXPECT_THAT(Submitted(*device_, queue_, work).Status(), IsOk());
  EXPECT_EQ(device_->memory().free_bytes, 15 * kMiB - workspace_bytes_);
  std::byte* const rest = Allocate(15 * kMiB);
  EXPECT_EQ(device_->memory().free_bytes, 0u);
  device_->Release(rest, 15 * kMiB);
  device_->Release(data, kMiB);
  EXPECT_EQ(device_->memory().free_bytes, 16 * kMiB);
}

// What the card has done counts until the host has seen that, but the pool has it back.
TEST_F(CudaMemoryLimitTest, WorkspaceThatThePoolHasBackIsNotWaitedFor) {
  const std::uint64_t bytes = 16 * kMiB - workspace_bytes_;
  std::byte* const data = Allocate(bytes);
  card_->HoldCalls("Elapsed");
  const Submitted first = Multiply(queue_, data);
  card_->WaitForCalls("Elapsed", 1);
  EXPECT_EQ(device_->memory().free_bytes, 0u);
  const Submitted second = Multiply(NewQueue(), data + 256);
  EXPECT_EQ(card_->calls("TrimPool"), 0);
  card_->ReleaseCalls();
  for (const Submitted* work : {&first, &second}) EXPECT_THAT(work->Status(), IsOk());
  EXPECT_EQ(card_->calls("TrimPool"), 0);
  card_->HoldCalls("Elapsed");
  const Submitted third = Multiply(queue_, data);
  card_->WaitForCalls("Elapsed", 3);
  std::byte* const last = Allocate(workspace_bytes_);
  EXPECT_EQ(card_->calls("TrimPool"), 0);
  card_->ReleaseCalls();
  EXPECT_THAT(third.Status(), IsOk());
  device_->Release(data, bytes);
  device_->Release(last, workspace_bytes_);
}

// Of the pool alone there is enough.
TEST_F(CudaMemoryLimitTest, WorkspaceOfOtherQueuesIsWaitedForBesideOpenableMemoryToo) {
  std::byte* const openable = *device_->Allocate(8 * kMiB, {.openable = true});
  const std::uint64_t bytes = 8 * kMiB - workspace_bytes_;
  std::byte* const data = Allocate(bytes);
  const DeviceQueue other = NewQueue();
  card_->Hold();
  const Submitted first = Multiply(queue_, data);
  EXPECT_EQ(card_->calls("TrimPool"), 0);
  const Submitted second = Multiply(other, data + 256);
  card_->WaitForCalls("Gemm", 2);
  EXPECT_EQ(card_->calls("TrimPool"), 1);
  card_->Release();
  for (const Submitted* work : {&first, &second}) EXPECT_THAT(work->Status(), IsOk());
  device_->Release(data, bytes);
  device_->Release(openable, 8 * kMiB);
}

// Which takes nothing of what the pool keeps.
TEST_F(CudaMemoryLimitTest, WhatThePoolKeepsGoesForOpenableMemory) {
  device_->Release(Allocate(16 * kMiB), 16 * kMiB);
  EXPECT_EQ(card_->pool_bytes(), 16 * kMiB);
  std::byte* const openable = *device_->Allocate(16 * kMiB, {.openable = true});
  EXPECT_EQ(card_->Memory().value.free_bytes, 48 * kMiB);
  device_->Release(openable, 16 * kMiB);
}

TEST_F(CudaMemoryLimitTest, WhatThePoolKeepsStaysWhereBothAreWithinTheLimit) {
  device_->Release(Allocate(8 * kMiB), 8 * kMiB);
  std::byte* const openable = *device_->Allocate(8 * kMiB, {.openable = true});
  EXPECT_EQ(card_->calls("TrimPool"), 0);
  device_->Release(openable, 8 * kMiB);
}

// ---- Where a program that was run once keeps its graph ----

class CudaMemoryOfGraphsTest : public CudaMemoryLimitTest {
 protected:
  CudaMemoryOfGraphsTest() {
    EXPECT_THAT(Run(program_), IsOk());
    EXPECT_EQ(device_->memory().free_bytes, 15 * kMiB - workspace_bytes_);
  }
  ~CudaMemoryOfGraphsTest() override {
    EXPECT_EQ(card_->calls("DestroyGraph"), 1);
    device_->Release(data_, kMiB);
  }

  std::unique_ptr<const DeviceProgram> NewProgram() const {
    return device_->MakeProgram({ProductOf(data_), ProductOf(data_)});
  }
  absl::Status Run(const std::unique_ptr<const DeviceProgram>& program) {
    return Submitted(*device_, queue_, program.get()).Status();
  }

  std::byte* const data_ = Allocate(kMiB);
  const std::unique_ptr<const DeviceProgram> program_ = NewProgram();
  const std::unique_ptr<const DeviceProgram> other_ = NewProgram();
};

TEST_F(CudaMemoryOfGraphsTest, ItGoesForTheWorkspaceOfAnOp) {
  std::byte* const rest = Allocate(15 * kMiB - workspace_bytes_);
  EXPECT_THAT(Multiply(NewQueue(), data_).Status(), IsOk());
  device_->Release(rest, 15 * kMiB - workspace_bytes_);
}

TEST_F(CudaMemoryOfGraphsTest, AlsoWhereTheCardHasNoMoreThoughTheBudgetHas) {
  for (const int call : {1, 2, 3}) card_->FailCall("Allocate", call, kDriverOutOfMemory);
  EXPECT_THAT(Multiply(NewQueue(), data_).Status(), IsOk());
}

TEST_F(CudaMemoryOfGraphsTest, ItGoesForTheGraphOfAnotherProgram) {
  std::byte* const rest = Allocate(15 * kMiB - workspace_bytes_);
  EXPECT_THAT(Run(other_), IsOk());
  EXPECT_EQ(card_->calls("LaunchGraph"), 2);
  device_->Release(rest, 15 * kMiB - workspace_bytes_);
  EXPECT_EQ(device_->memory().free_bytes, 15 * kMiB - workspace_bytes_);
}

TEST_F(CudaMemoryOfGraphsTest, WhereThatDoesNotHelpAnOpIsOutOfMemory) {
  const std::uint64_t bytes = 15 * kMiB - workspace_bytes_ + 256;
  std::byte* const rest = Allocate(bytes);
  EXPECT_THAT(Multiply(NewQueue(), data_).Status(),
              IsStatus(absl::StatusCode::kResourceExhausted, "has no 4096 bytes left"));
  device_->Release(rest, bytes);
}

}  // namespace
}  // namespace acceld
