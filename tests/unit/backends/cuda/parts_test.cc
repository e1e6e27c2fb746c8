#include <thread>

#include "backends/core/status.h"
#include "backends/cuda/background_thread.h"
#include "backends/cuda/context.h"
#include "backends/cuda/driver_status.h"
#include "backends/cuda/pinned_pool.h"
#include "backends/cuda/pinned_ranges.h"
#include "backends/cuda/plan_cache.h"
#include "backends/cuda/stream_workspace.h"
#include "tests/unit/backends/cuda/testing.h"

namespace acceld {
namespace {

using cuda::DriverCode;
using cuda::DriverStatus;
using cuda::PlanCache;

TEST(CudaDriverStatus, BecomesAnErrorThatNamesCardCallAndCause) {
  const DeviceInfo info{.ordinal = 3};
  const auto status = [&info](DriverCode code) {
    return ToStatus(DriverStatus{.code = code, .call = "cudaMalloc", .detail = "cudaErrorX (why)"},
                    info);
  };
  const std::string what = "cuda device 3: cudaMalloc: cudaErrorX (why).";
  EXPECT_THAT(status(DriverCode::kOk), IsOk());
  EXPECT_THAT(status(DriverCode::kOutOfMemory),
              IsStatus(absl::StatusCode::kResourceExhausted, what));
  EXPECT_THAT(status(DriverCode::kUnsupported), IsStatus(absl::StatusCode::kUnimplemented, what));
  EXPECT_THAT(status(DriverCode::kFailed), IsStatus(absl::StatusCode::kInternal, what));
  EXPECT_THAT(status(DriverCode::kFailed), HasReason(reason::kDeviceError));
  EXPECT_THAT(status(DriverCode::kDeviceLost), IsStatus(absl::StatusCode::kInternal, what));
  EXPECT_THAT(status(DriverCode::kDeviceLost), HasReason(reason::kDeviceLost));
}

TEST(CudaDriverStatus, SaysWhichLibraryIsMissing) {
  const DriverStatus missing{
      .code = DriverCode::kMissing, .call = "cudnnCreate", .detail = "libcudnn.so.9 is not there."};
  EXPECT_THAT(
      ToStatus(missing, DeviceInfo{}),
      IsStatus(absl::StatusCode::kUnimplemented, "cuda device 0: libcudnn.so.9 is not there."));
}

TEST(CudaPinnedRanges, ContainWhatLiesInOneRange) {
  std::vector<std::byte> memory(100);
  cuda::PinnedRanges ranges;
  EXPECT_FALSE(ranges.Contains(memory.data(), 1));
  ranges.Add(memory.data() + 10, 20);
  ranges.Add(memory.data() + 30, 20);
  EXPECT_TRUE(ranges.Contains(memory.data() + 10, 20));
  EXPECT_TRUE(ranges.Contains(memory.data() + 29, 1));
  EXPECT_FALSE(ranges.Contains(memory.data() + 9, 2));
  EXPECT_FALSE(ranges.Contains(memory.data() + 25, 10));
  EXPECT_FALSE(ranges.Contains(memory.data() + 50, 1));
  EXPECT_FALSE(ranges.Contains(memory.data() + 10, ~std::uint64_t{0}));
  ranges.Remove(memory.data() + 10);
  EXPECT_FALSE(ranges.Contains(memory.data() + 10, 1));
  EXPECT_TRUE(ranges.Contains(memory.data() + 30, 1));
}

class CudaPartsTest : public testing::Test {
 protected:
  CudaPartsTest() { EXPECT_TRUE(card_->Init().ok()); }

  std::unique_ptr<FakeCudaDriver> card_ = MakeFakeCudaDriver();
};

TEST_F(CudaPartsTest, PinnedBlocksAreUsedAgain) {
  cuda::PinnedPool pool(*card_);
  std::byte* const block = pool.Take(5000).value;
  pool.GiveBack(block);
  EXPECT_EQ(pool.Take(8192).value, block);
  std::byte* const other = pool.Take(8000).value;
  EXPECT_NE(other, block);
  pool.GiveBack(block);
  pool.GiveBack(other);
}

TEST_F(CudaPartsTest, PinnedBlocksAreKeptUpToALimit) {
  cuda::PinnedPool pool(*card_);
  for (int i = 0; i < 2; ++i) {
    std::byte* const block = pool.Take(cuda::PinnedPool::kMaxKeptBytes).value;
    std::byte* const small = pool.Take(1).value;
    // Ends only where it does not wait for the driver.
    card_->HoldCalls("FreeHost");
    pool.GiveBack(small);
    pool.GiveBack(block);
    card_->ReleaseCalls();
    card_->WaitForCalls("FreeHost", i + 1);
  }
  EXPECT_EQ(card_->calls("FreeHost"), 2);
}

TEST_F(CudaPartsTest, APinnedBlockWaitsForWhatIsBeingUnpinnedWhereTheHostHasNoMore) {
  cuda::PinnedPool pool(*card_);
  std::byte* const small = pool.Take(1).value;
  std::byte* const block = pool.Take(cuda::PinnedPool::kMaxKeptBytes).value;
  pool.GiveBack(small);
  card_->HoldCalls("FreeHost");
  pool.GiveBack(block);
  card_->FailCall("AllocateHost", 1, kDriverOutOfMemory);
  std::thread unpin([this] {
    card_->WaitForCalls("FreeHost", 1);
    card_->WaitForCalls("AllocateHost", 3);
    EXPECT_EQ(card_->calls("AllocateHost"), 3);
    card_->ReleaseCalls();
  });
  const cuda::DriverResult<std::byte*> again = pool.Take(cuda::PinnedPool::kMaxKeptBytes);
  unpin.join();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(card_->calls("AllocateHost"), 4);
  pool.GiveBack(again.value);
}

TEST_F(CudaPartsTest, APinnedBlockIsRefusedAtOnceWhereNothingIsUnpinned) {
  cuda::PinnedPool pool(*card_);
  card_->FailCall("AllocateHost", 1, kDriverOutOfMemory);
  EXPECT_EQ(pool.Take(1).status.code, DriverCode::kOutOfMemory);
  EXPECT_EQ(card_->calls("AllocateHost"), 1);
}

cuda::ConvolutionKey Key(std::int64_t images) {
  return {.shape = Conv2dShape::For({images, 1, 3, 3}, {1, 1, 2, 2})};
}

TEST_F(CudaPartsTest, PlansAreMadeOnceAndTheLeastRecentlyUsedGoesFirst) {
  PlanCache cache(*card_, 2);
  for (const std::int64_t images : {1, 2, 1, 3, 1}) EXPECT_TRUE(cache.Get(Key(images)).ok());
  EXPECT_EQ(card_->calls("PlanConvolution"), 3);
  EXPECT_EQ(card_->calls("DestroyConvolution"), 1);
  EXPECT_TRUE(cache.Get(Key(2)).ok());
  EXPECT_EQ(card_->calls("PlanConvolution"), 4);
}

TEST_F(CudaPartsTest, PlansOfDifferentKindsAndStridesAreDifferent) {
  PlanCache cache(*card_);
  cuda::ConvolutionKey key = Key(1);
  EXPECT_TRUE(cache.Get(key).ok());
  key.kind = cuda::ConvolutionKind::kBackwardData;
  EXPECT_TRUE(cache.Get(key).ok());
  key.shape.stride[1] = 2;
  EXPECT_TRUE(cache.Get(key).ok());
  key.shape.padding[0] = 1;
  EXPECT_TRUE(cache.Get(key).ok());
  EXPECT_EQ(card_->calls("PlanConvolution"), 4);
}

TEST_F(CudaPartsTest, APlanStaysWhileItIsUsed) {
  PlanCache cache(*card_, 1);
  auto plan = cache.Get(Key(1));
  EXPECT_TRUE(cache.Get(Key(2)).ok());
  EXPECT_EQ(card_->calls("DestroyConvolution"), 0);
  plan.value.reset();
  EXPECT_EQ(card_->calls("DestroyConvolution"), 1);
}

TEST_F(CudaPartsTest, APlanThatFailsIsTriedAgain) {
  PlanCache cache(*card_);
  card_->FailCall("PlanConvolution", 1, kDriverFailure);
  EXPECT_EQ(cache.Get(Key(1)).status.code, DriverCode::kFailed);
  EXPECT_TRUE(cache.Get(Key(1)).ok());
}

TEST(CudaBackgroundThreadTest, RunsAllInTheirOrderAndMayBeWaitedFor) {
  std::vector<int> done;
  {
    cuda::BackgroundThread thread("acceld-test", "test");
    EXPECT_FALSE(thread.Finish());
    for (int i = 0; i < 2; ++i) EXPECT_THAT(thread.Start(), IsOk());
    for (int i = 0; i < 3; ++i) thread.Add([&done, i] { done.push_back(i); });
    EXPECT_TRUE(thread.Finish());
    EXPECT_THAT(done, testing::ElementsAre(0, 1, 2));
    EXPECT_TRUE(thread.Finish());
    for (int i = 3; i < 5; ++i) thread.Add([&done, i] { done.push_back(i); });
  }
  EXPECT_THAT(done, testing::ElementsAre(0, 1, 2, 3, 4));
}

// ---- The budget's count of workspace ----

TEST(CudaStreamWorkspaceTest, TheMostThatAnyOpOfTheStreamHasCounts) {
  MemoryBudget budget("The card", 8192);
  EXPECT_THAT(budget.Reserve(4096), IsOk());
  cuda::StreamWorkspace workspace(budget);
  const auto counted = [&budget] { return budget.used_bytes() - 4096; };
  std::uint64_t first = 0;
  EXPECT_THAT(workspace.Add(1000, first), IsOk());
  EXPECT_THAT(workspace.Add(1, first), IsOk());
  EXPECT_EQ(first, 1280u);
  EXPECT_EQ(counted(), 1280u);
  std::uint64_t second = 0;
  EXPECT_THAT(workspace.Add(512, second), IsOk());
  EXPECT_EQ(counted(), 1280u);
  std::uint64_t third = 0;
  EXPECT_THAT(workspace.Add(1280, third), IsOk());
  EXPECT_THAT(workspace.Add(2560, third), IsOk());
  EXPECT_EQ(counted(), 3840u);
  workspace.End(first);
  EXPECT_EQ(counted(), 3840u);
  workspace.End(third);
  EXPECT_EQ(counted(), 512u);
  workspace.End(second);
  workspace.End(/*op_bytes=*/0);
  EXPECT_EQ(counted(), 0u);
}

TEST(CudaStreamWorkspaceTest, WhatDoesNotFitBesideAllocationsIsRefusedAndWhatIsSmallerIsNot) {
  MemoryBudget budget("The card", 8192);
  EXPECT_THAT(budget.Reserve(4096), IsOk());
  cuda::StreamWorkspace one(budget);
  cuda::StreamWorkspace other(budget);
  std::uint64_t first = 0;
  for (const std::uint64_t bytes : {std::uint64_t{4097}, ~std::uint64_t{0}}) {
    EXPECT_THAT(one.Add(bytes, first),
                IsStatus(absl::StatusCode::kResourceExhausted,
                         std::to_string(bytes) + " bytes left: 4096 of its limit of 8192"));
  }
  EXPECT_EQ(first, 0u);
  EXPECT_THAT(one.Add(2048, first), IsOk());
  EXPECT_THAT(one.Add(2049, first), IsStatus(absl::StatusCode::kResourceExhausted, "4352"));
  EXPECT_EQ(first, 2048u);
  EXPECT_THAT(one.Add(2048, first), IsOk());
  // Another stream's work is none of its business.
  std::uint64_t second = 0;
  EXPECT_THAT(other.Add(4096, second), IsOk());
  EXPECT_EQ(budget.used_bytes(), 4096u + 2 * 4096u);
  one.End(first);
  other.End(second);
  EXPECT_EQ(budget.used_bytes(), 4096u);
}

// What an op gets.
class CudaContextTest : public CudaPartsTest {
 protected:
  ~CudaContextTest() override {
    EXPECT_TRUE(card_->Synchronize(stream_).ok());
    for (std::byte* block : resources_.pinned) pinned_.GiveBack(block);
    EXPECT_TRUE(card_->DestroyStream(stream_).ok());
  }

  cuda::CudaContext Context() {
    return cuda::CudaContext(*card_, stream_, plans_, pinned_, &workspace_, resources_);
  }

  PlanCache plans_{*card_};
  cuda::PinnedPool pinned_{*card_};
  MemoryBudget budget_{"The card", std::uint64_t{128} << 20};
  cuda::StreamWorkspace workspace_{budget_};
  cuda::OpResources resources_;
  const cuda::StreamHandle stream_ = card_->CreateStream(0).value;
};

TEST_F(CudaContextTest, WorkspaceIsGivenBackInTheStreamsOrder) {
  {
    cuda::CudaContext context = Context();
    const absl::StatusOr<std::byte*> data = context.Workspace(1000);
    ASSERT_THAT(data.status(), IsOk());
    EXPECT_THAT(context.Memset(*data, 1, 1000), IsOk());
  }
  EXPECT_EQ(card_->calls("Free"), 1);
}

TEST_F(CudaContextTest, WorkspaceTrimsThePoolOnce) {
  cuda::CudaContext context = Context();
  EXPECT_THAT(context.Workspace(std::uint64_t{65} << 20).status(),
              IsStatus(absl::StatusCode::kResourceExhausted, "cuda device 0"));
  EXPECT_EQ(card_->calls("TrimPool"), 1);
  EXPECT_THAT(context.Workspace(1 << 20).status(), IsOk());
}

TEST_F(CudaContextTest, WorkspaceCountsUntilTheOpIsSaidToBeDone) {
  {
    cuda::CudaContext context = Context();
    EXPECT_THAT(context.Workspace(1000).status(), IsOk());
    EXPECT_THAT(context.Upload(std::vector<std::byte>(10)).status(), IsOk());
  }
  EXPECT_EQ(resources_.workspace_bytes, 1280u);
  EXPECT_EQ(budget_.used_bytes(), 1280u);
  workspace_.End(resources_.workspace_bytes);
  EXPECT_EQ(budget_.used_bytes(), 0u);
}

TEST_F(CudaContextTest, BeyondTheBudgetNothingIsAllocated) {
  EXPECT_THAT(budget_.Reserve(budget_.limit_bytes() - 512), IsOk());
  cuda::CudaContext context = Context();
  EXPECT_THAT(context.Workspace(513).status(),
              IsStatus(absl::StatusCode::kResourceExhausted, "The card has no 513 bytes left"));
  EXPECT_EQ(card_->calls("Allocate"), 0);
  EXPECT_THAT(context.Workspace(512).status(), IsOk());
}

TEST_F(CudaContextTest, TheCallsOfLibrariesUseOneWorkspaceInTurn) {
  cuda::CudaContext context = Context();
  std::byte* const data = context.Workspace(256).value();
  const cuda::GemmCall call{
      .m = 1, .n = 1, .k = 1, .a = data, .lda = 1, .b = data, .ldb = 1, .c = data + 4, .ldc = 1};
  for (int i = 0; i < 3; ++i) EXPECT_THAT(context.Gemm(call), IsOk());
  EXPECT_EQ(card_->calls("Allocate"), 2);
}

TEST_F(CudaContextTest, UploadsAreCopiedAtOnce) {
  std::vector<std::byte> source(5000, std::byte{3});
  cuda::CudaContext context = Context();
  const absl::StatusOr<const std::byte*> uploaded = context.Upload(source);
  ASSERT_THAT(uploaded.status(), IsOk());
  source.assign(5000, std::byte{4});
  EXPECT_TRUE(card_->Synchronize(stream_).ok());
  EXPECT_EQ(std::vector<std::byte>(*uploaded, *uploaded + 5000),
            std::vector<std::byte>(5000, std::byte{3}));
}

TEST_F(CudaContextTest, AConvolutionKeepsItsPlanUntilItIsDone) {
  PlanCache plans(*card_, 1);
  cuda::OpResources resources;
  {
    cuda::CudaContext context(*card_, stream_, plans, pinned_, &workspace_, resources);
    std::byte* const data = context.Workspace(1024).value();
    const auto array = [data](std::size_t i) { return data + i * 256; };
    const cuda::ConvolutionCall call{.input = array(0), .filter = array(1), .output = array(2)};
    EXPECT_THAT(context.Convolution(Key(1), call), IsOk());
    EXPECT_THAT(context.Convolution(Key(2), call), IsOk());
  }
  EXPECT_EQ(card_->calls("DestroyConvolution"), 0);
  EXPECT_TRUE(card_->Synchronize(stream_).ok());
  resources.kept.clear();
  EXPECT_EQ(card_->calls("DestroyConvolution"), 1);
}

}  // namespace
}  // namespace acceld
