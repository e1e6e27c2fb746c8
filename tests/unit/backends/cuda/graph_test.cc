// Programs of the cuda device and their graphs.
#include <cstring>
#include <thread>

#include "backends/core/status.h"
#include "backends/cuda/graph_cache.h"
#include "backends/cuda/graph_context.h"
#include "backends/cuda/pinned_pool.h"
#include "backends/cuda/plan_cache.h"
#include "tests/unit/backends/cuda/testing.h"

namespace acceld {
namespace {

using Bytes = std::vector<std::uint8_t>;
using ProgramPointer = std::unique_ptr<const DeviceProgram>;

constexpr std::uint64_t kBytes = 256;

Address AddressOf(const std::byte* data) { return reinterpret_cast<Address>(data); }

Op FillOf(const std::byte* target, std::uint8_t value, std::uint64_t bytes = kBytes) {
  return ops::Memset{.target = AddressOf(target), .value = value, .bytes = bytes};
}

Op CopyOf(const std::byte* target, const std::byte* source) {
  return ops::CopyDtoD{.target = AddressOf(target), .source = AddressOf(source), .bytes = kBytes};
}

// Rows of one float.
Op GatherOf(const std::byte* table, const std::byte* output, std::vector<std::int64_t> indices) {
  return ops::Gather{.rows = kBytes / sizeof(float),
                     .columns = 1,
                     .indices = std::move(indices),
                     .table = AddressOf(table),
                     .output = AddressOf(output)};
}

// [1, 1] x [1, 1] -> [1, 1]; takes workspace.
Op GemmOf(const std::byte* a, const std::byte* b, const std::byte* c) {
  ops::Gemm gemm{.m = 1, .n = 1, .k = 1};
  gemm.a = AddressOf(a);
  gemm.b = AddressOf(b);
  gemm.c = AddressOf(c);
  gemm.lda = gemm.ldb = gemm.ldc = 1;
  return gemm;
}

// Of one row that is cut, so that it takes workspace for its pieces.
constexpr std::int64_t kRow = 20'000;

Op SumOf(const std::byte* row, const std::byte* output) {
  return ops::Reduce{.op = ReduceOp::kSum,
                     .shape = {kRow},
                     .axis = 0,
                     .input = AddressOf(row),
                     .output = AddressOf(output)};
}

class CudaGraphTest : public CudaDeviceTest {
 protected:
  ~CudaGraphTest() override {
    for (std::byte* data : {a_, b_, c_}) device_->Release(data, kBytes);
  }

  ProgramPointer Make(std::vector<Op> ops) { return device_->MakeProgram(std::move(ops)); }
  Submitted Run(const ProgramPointer& program) { return Run(queue_, program); }
  Submitted Run(DeviceQueue queue, const ProgramPointer& program) {
    return Submitted(*device_, queue, program.get());
  }
  static absl::Status WhyNotCaptured(const ProgramPointer& program) {
    return static_cast<const cuda::CudaProgram&>(*program).why_not_captured();
  }
  int captures() const { return card_->calls("EndCapture"); }
  int launches() const { return card_->calls("LaunchGraph"); }
  int destroyed() const { return card_->calls("DestroyGraph"); }

  Bytes BytesAt(const std::byte* data) {
    Bytes bytes(kBytes);
    EXPECT_THAT(Read(bytes, data).Status(), IsOk());
    return bytes;
  }

  std::byte* const a_ = Allocate(kBytes);
  std::byte* const b_ = Allocate(kBytes);
  std::byte* const c_ = Allocate(kBytes);
};

TEST_F(CudaGraphTest, AProgramIsCapturedOnceAndRunsItsOpsInOrderEachTime) {
  const ProgramPointer program = Make({FillOf(a_, 1), CopyOf(b_, a_), FillOf(a_, 2)});
  EXPECT_EQ(card_->calls("BeginCapture"), 0);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_THAT(Fill(b_, 9, kBytes).Status(), IsOk());
    EXPECT_THAT(Run(program).Status(), IsOk());
    EXPECT_EQ(BytesAt(a_), Bytes(kBytes, 2));
    EXPECT_EQ(BytesAt(b_), Bytes(kBytes, 1));
    EXPECT_EQ(captures(), 1);
    EXPECT_EQ(launches(), i);
  }
}

TEST_F(CudaGraphTest, LaterWorkOfTheQueueIsBehindIt) {
  const ProgramPointer program = Make({FillOf(a_, 1), FillOf(b_, 1)});
  card_->Hold();
  const Submitted work[] = {Run(program), Fill(a_, 2, kBytes), Run(program), Fill(b_, 3, kBytes)};
  card_->Release();
  for (const Submitted& each : work) EXPECT_THAT(each.Status(), IsOk());
  EXPECT_EQ(captures(), 1);
  EXPECT_EQ(BytesAt(a_), Bytes(kBytes, 1));
  EXPECT_EQ(BytesAt(b_), Bytes(kBytes, 3));
}

TEST_F(CudaGraphTest, RunsInAnotherQueueByTheSameGraph) {
  const ProgramPointer program =
      Make({GatherOf(a_, b_, {3, 2}), GemmOf(a_, b_, c_), FillOf(a_, 7)});
  const DeviceQueue other = NewQueue();
  EXPECT_THAT(Run(program).Status(), IsOk());
  card_->Hold();
  const Submitted work[] = {Run(program), Run(other, program), Run(program)};
  card_->Release();
  for (const Submitted& each : work) EXPECT_THAT(each.Status(), IsOk());
  EXPECT_EQ(captures(), 1);
  EXPECT_EQ(launches(), 4);
}

TEST_F(CudaGraphTest, TheSameOpsWithOtherAddressesAreCapturedAnew) {
  const ProgramPointer own = Make({FillOf(a_, 1), FillOf(a_, 2)});
  const ProgramPointer rebound = Make({FillOf(b_, 1), FillOf(b_, 2)});
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Run(own).Status(), IsOk());
    EXPECT_THAT(Run(rebound).Status(), IsOk());
  }
  EXPECT_EQ(captures(), 2);
  EXPECT_EQ(launches(), 4);
  EXPECT_EQ(BytesAt(b_), Bytes(kBytes, 2));
}

TEST_F(CudaGraphTest, WhatItUploadsIsUploadedOnceAndItsWorkspaceIsItsOwn) {
  std::vector<float> table(kBytes / sizeof(float));
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i);
  Bytes source(kBytes);
  std::memcpy(source.data(), table.data(), kBytes);
  EXPECT_THAT(Write(a_, source).Status(), IsOk());
  const ProgramPointer program =
      Make({GatherOf(a_, b_, {5, 3}), GatherOf(b_, c_, {1, 1, 0}), GemmOf(a_, a_, b_)});
  EXPECT_THAT(Run(program).Status(), IsOk());
  const int copies = card_->calls("CopyToDevice");
  const int allocations = card_->calls("Allocate");
  EXPECT_THAT(Run(program).Status(), IsOk());
  EXPECT_EQ(card_->calls("CopyToDevice"), copies);
  EXPECT_EQ(card_->calls("Allocate"), allocations);
  const Bytes bytes = BytesAt(c_);
  float gathered[3];
  std::memcpy(gathered, bytes.data(), sizeof(gathered));
  EXPECT_THAT(gathered, testing::ElementsAre(3, 3, 5));
}

TEST_F(CudaGraphTest, ItsWorkspaceCountsAsUsed) {
  const ProgramPointer program = Make({GemmOf(a_, b_, c_), GemmOf(b_, c_, a_)});
  const std::uint64_t before = device_->memory().free_bytes;
  EXPECT_THAT(Run(program).Status(), IsOk());
  EXPECT_EQ(device_->memory().free_bytes, before - card_->GemmWorkspaceBytes());
}

TEST_F(CudaGraphTest, ReductionsTakeTheirWorkspaceInTurn) {
  constexpr std::uint64_t kRowBytes = kRow * sizeof(float);
  std::byte* const rows = Allocate(2 * kRowBytes);
  EXPECT_THAT(Fill(rows, 0, 2 * kRowBytes).Status(), IsOk());
  const ProgramPointer program = Make({SumOf(rows, a_), SumOf(rows + kRowBytes, b_)});
  std::vector<int> allocations;
  for (const float value : {1.0f, 3.0f}) {
    Bytes last(2 * sizeof(float));
    std::memcpy(last.data(), &value, sizeof(value));
    const float twice = 2 * value;
    std::memcpy(last.data() + sizeof(float), &twice, sizeof(twice));
    EXPECT_THAT(Write(rows + kRowBytes - sizeof(float), last).Status(), IsOk());
    EXPECT_THAT(Run(program).Status(), IsOk());
    float sums[2];
    std::memcpy(&sums[0], BytesAt(a_).data(), sizeof(float));
    std::memcpy(&sums[1], BytesAt(b_).data(), sizeof(float));
    EXPECT_THAT(sums, testing::ElementsAre(value, twice));
    allocations.push_back(card_->calls("Allocate"));
  }
  EXPECT_EQ(captures(), 1);
  EXPECT_EQ(launches(), 2);
  EXPECT_EQ(allocations[1], allocations[0]);
  EXPECT_EQ(card_->calls("Reduce"), 2);
  device_->Release(rows, 2 * kRowBytes);
}

TEST_F(CudaGraphTest, EndsWithItsProgram) {
  const std::uint64_t before = device_->memory().free_bytes;
  ProgramPointer program = Make({GemmOf(a_, b_, c_), GemmOf(b_, c_, a_)});
  EXPECT_THAT(Run(program).Status(), IsOk());
  EXPECT_EQ(destroyed(), 0);
  program.reset();
  EXPECT_EQ(destroyed(), 1);
  EXPECT_EQ(device_->memory().free_bytes, before);
}

TEST_F(CudaGraphTest, StaysWhenTheMemoryThatItNamesGoes) {
  std::byte* const data = Allocate(kBytes);
  ProgramPointer program = Make({FillOf(data, 1), FillOf(data, 2)});
  EXPECT_THAT(Run(program).Status(), IsOk());
  device_->Release(data, kBytes);
  EXPECT_THAT(Fill(a_, 1, kBytes).Status(), IsOk());
  program.reset();
  EXPECT_EQ(destroyed(), 1);
}

// ---- Where there is no graph ----

TEST_F(CudaGraphTest, WhereACaptureFailsTwiceItsOpsAreSubmittedOneByOneFromThenOn) {
  for (const char* call : {"BeginCapture", "Memset", "EndCapture"}) {
    SCOPED_TRACE(call);
    const ProgramPointer program = Make({GatherOf(a_, b_, {1}), FillOf(a_, 3)});
    for (int run = 0; run < 3; ++run) {
      EXPECT_THAT(Fill(a_, 1, kBytes).Status(), IsOk());
      if (run < 2) card_->FailCall(call, 1, {.code = cuda::DriverCode::kUnsupported, .call = call});
      const int begun = card_->calls("BeginCapture");
      EXPECT_THAT(Run(program).Status(), IsOk());
      EXPECT_EQ(BytesAt(a_), Bytes(kBytes, 3));
      EXPECT_EQ(card_->calls("BeginCapture"), begun + (run < 2 ? 1 : 0));
      EXPECT_THAT(WhyNotCaptured(program), IsStatus(absl::StatusCode::kUnimplemented, call));
    }
  }
  EXPECT_EQ(launches(), 0);
}

TEST_F(CudaGraphTest, WhatFailsOnceIsCapturedTheNextTime) {
  const ProgramPointer program = Make({GemmOf(a_, b_, c_), FillOf(a_, 4)});
  EXPECT_THAT(WhyNotCaptured(program), IsOk());
  card_->FailCall("Memset", 1, kDriverFailure);
  EXPECT_THAT(Run(program).Status(), IsOk());
  EXPECT_EQ(BytesAt(a_), Bytes(kBytes, 4));
  EXPECT_EQ(launches(), 0);
  EXPECT_THAT(Run(program).Status(), IsOk());
  EXPECT_EQ(launches(), 1);
}

TEST_F(CudaGraphTest, WithoutMemoryForAGraphItIsTriedAgain) {
  const ProgramPointer program = Make({GatherOf(a_, b_, {1}), FillOf(a_, 4)});
  for (const int failing : {1, 2}) card_->FailCall("Allocate", failing, kDriverOutOfMemory);
  EXPECT_THAT(Run(program).Status(), IsOk());
  card_->FailCall("CopyToDevice", 1, kDriverOutOfMemory);
  EXPECT_THAT(Run(program).Status(), IsOk());
  EXPECT_EQ(BytesAt(a_), Bytes(kBytes, 4));
  EXPECT_EQ(captures(), 0);
  for (const char* call : {"BeginCapture", "Memset", "EndCapture"}) {
    for (const int failing : {1, 2}) card_->FailCall(call, failing, kDriverOutOfMemory);
    EXPECT_THAT(Run(program).Status(), IsOk());
    EXPECT_THAT(WhyNotCaptured(program), IsStatus(absl::StatusCode::kResourceExhausted, ""));
  }
  EXPECT_EQ(launches(), 0);
  EXPECT_THAT(Run(program).Status(), IsOk());
  EXPECT_EQ(launches(), 1);
}

TEST_F(CudaGraphTest, AnOpThatFailsStopsTheRest) {
  const ProgramPointer program = Make({FillOf(a_, 5), FillOf(b_, 5), FillOf(c_, 5)});
  card_->FailCall("BeginCapture", 1, kDriverFailure);
  card_->FailCall("Memset", 2, kDriverFailure);
  EXPECT_THAT(Run(program).Status(), IsStatus(absl::StatusCode::kInternal, "cudaErrorUnknown"));
  EXPECT_EQ(BytesAt(a_), Bytes(kBytes, 5));
  EXPECT_EQ(BytesAt(c_), Bytes(kBytes, 0));
}

// ---- Errors ----

TEST_F(CudaGraphTest, ALaunchThatFailsIsTheProgramsErrorAndItIsCapturedAnew) {
  const ProgramPointer program = Make({GatherOf(a_, b_, {1}), FillOf(a_, 6)});
  card_->FailCall("LaunchGraph", 1, kDriverFailure);
  EXPECT_THAT(Run(program).Status(), IsStatus(absl::StatusCode::kInternal,
                                              "cuda device 0: cudaCall: cudaErrorUnknown (odd)."));
  EXPECT_EQ(destroyed(), 1);
  EXPECT_THAT(Run(program).Status(), IsOk());
  EXPECT_EQ(captures(), 2);
  EXPECT_EQ(BytesAt(a_), Bytes(kBytes, 6));
  for (const int n : {1, 2, 3, 4}) card_->FailCall("LaunchGraph", n, kDriverOutOfMemory);
  EXPECT_THAT(Run(program).Status(), IsStatus(absl::StatusCode::kResourceExhausted, ""));
  EXPECT_THAT(Run(program).Status(), IsOk());
  EXPECT_EQ(captures(), 2);
}

TEST_F(CudaGraphTest, ALossNamesTheProgram) {
  const ProgramPointer program = Make({FillOf(a_, 1), CopyOf(b_, a_)});
  EXPECT_THAT(Run(program).Status(), IsOk());
  card_->LoseAt(2);
  const absl::Status lost = Run(program).Status();
  EXPECT_THAT(lost, HasReason(reason::kDeviceLost));
  EXPECT_THAT(lost, IsStatus(absl::StatusCode::kInternal,
                             "The device was lost while a program of 2 ops, memset first, ran: "));
  EXPECT_EQ(Run(program).Status(), lost);
}

TEST_F(CudaGraphTest, ALossMayShowInAnyCallOfACapture) {
  for (const char* call : {"Allocate", "CopyToDevice", "BeginCapture", "Memset", "Reduce",
                           "EndCapture", "LaunchGraph"}) {
    SCOPED_TRACE(call);
    std::unique_ptr<FakeCudaDriver> driver = MakeFakeCudaDriver();
    FakeCudaDriver& card = *driver;
    const std::unique_ptr<Device> device = cuda::MakeCudaDevice(std::move(driver));
    ASSERT_THAT(device->Init(), IsOk());
    const DeviceQueue queue = device->CreateQueue(0).value();
    constexpr std::uint64_t kAll = 2 * kBytes + kRow * sizeof(float);
    std::byte* const data = device->Allocate(kAll, {}).value();
    const ProgramPointer program =
        device->MakeProgram({GatherOf(data, data + kBytes, {1}), FillOf(data, 1),
                             SumOf(data + 2 * kBytes, data + kBytes)});
    card.FailCall(call, 1, kDriverLost);
    EXPECT_THAT(Submitted(*device, queue, program.get()).Status(), HasReason(reason::kDeviceLost));
    device->Release(data, kAll);
  }
}

// ---- Shutdown ----

TEST_F(CudaDeviceTest, FinishesItsProgramsBeforeItEnds) {
  std::byte* const data = Allocate(kBytes);
  ProgramPointer program =
      device_->MakeProgram({FillOf(data, 1), GemmOf(data, data + 64, data + 128)});
  const Work work = program.get();
  const Waiter<absl::Status> waiter;
  card_->Hold();
  device_->Submit(queue_, work, [&, device = device_.get()](const WorkResult& result) {
    program.reset();
    device->Release(data, kBytes);
    waiter(result.status);
  });
  card_->Release();
  device_.reset();  // The fake reports what is not given back, or too early.
  EXPECT_THAT(waiter.Wait(), IsOk());
}

TEST(CudaGraphThreads, TwoQueuesMayCaptureAProgramAtTheSameTime) {
  const std::unique_ptr<Device> device = cuda::MakeCudaDevice(std::make_unique<FakeCudaDriver>(
      FakeCudaOptions{.clients_race = true,
                      .on_misuse = [](const std::string& what) { ADD_FAILURE() << what; }}));
  ASSERT_THAT(device->Init(), IsOk());
  std::byte* const data = device->Allocate(kBytes, {}).value();
  for (int round = 0; round < 20; ++round) {
    const ProgramPointer program =
        device->MakeProgram({GatherOf(data, data + 64, {1, 2}), FillOf(data, 1, 64)});
    const auto run = [&] {
      const DeviceQueue queue = device->CreateQueue(0).value();
      for (int i = 0; i < 3; ++i) {
        EXPECT_THAT(Submitted(*device, queue, program.get()).Status(), IsOk());
      }
      device->DestroyQueue(queue);
    };
    std::thread other(run);
    run();
    other.join();
  }
  device->Release(data, kBytes);
}

// ---- The cache ----

class CudaGraphCacheTest : public testing::Test {
 protected:
  CudaGraphCacheTest() {
    EXPECT_TRUE(card_->Init().ok());
    EXPECT_THAT(memory_.Init(), IsOk());
    stream_ = card_->CreateStream(0).value;
    data_ = card_->Allocate(stream_, kBytes).value;
  }
  ~CudaGraphCacheTest() override {
    Finish();
    EXPECT_TRUE(card_->Free(stream_, data_).ok());
    EXPECT_TRUE(card_->DestroyStream(stream_).ok());
  }

  // All that was launched is done.
  void Finish() {
    EXPECT_TRUE(card_->Synchronize(stream_).ok());
    resources_.kept.clear();
    for (std::byte* block : resources_.pinned) pinned_.GiveBack(block);
    resources_.pinned.clear();
  }

  std::vector<Op> TwoFills() const { return {FillOf(data_, 1), FillOf(data_, 2)}; }
  // Takes the workspace of one.
  std::vector<Op> TwoGemms() const {
    return {GemmOf(data_, data_, data_ + 4), GemmOf(data_, data_, data_ + 8)};
  }
  bool Launch(cuda::GraphCache& cache, const cuda::CudaProgram& program) {
    const auto graph = cache.Get(program, stream_, resources_);
    if (graph == nullptr) return false;
    EXPECT_TRUE(graph->Launch(stream_).ok());
    cache.Keep(program, graph);
    return true;
  }
  int captures() const { return card_->calls("EndCapture"); }
  int destroyed() const { return card_->calls("DestroyGraph"); }

  std::unique_ptr<FakeCudaDriver> card_ = MakeFakeCudaDriver();
  cuda::PlanCache plans_{*card_};
  cuda::PinnedPool pinned_{*card_};
  cuda::DeviceMemory memory_{*card_, card_->info().total_memory_bytes};
  cuda::StreamHandle stream_{};
  std::byte* data_ = nullptr;
  cuda::OpResources resources_;
};

TEST_F(CudaGraphCacheTest, TheLeastRecentlyUsedGoesFirst) {
  cuda::GraphCache cache(*card_, memory_, plans_, pinned_, /*max_graphs=*/2);
  const cuda::CudaProgram first(cache, TwoFills());
  const cuda::CudaProgram second(cache, TwoFills());
  const cuda::CudaProgram third(cache, TwoFills());
  for (const cuda::CudaProgram* program : {&first, &second, &first, &third, &first}) {
    EXPECT_TRUE(Launch(cache, *program));
  }
  EXPECT_EQ(captures(), 3);
  Finish();
  EXPECT_EQ(destroyed(), 1);
  EXPECT_TRUE(Launch(cache, second));
  EXPECT_EQ(captures(), 4);
}

TEST_F(CudaGraphCacheTest, AGraphStaysUntilItsLaunchesAreDone) {
  cuda::GraphCache cache(*card_, memory_, plans_, pinned_, /*max_graphs=*/1);
  const cuda::CudaProgram first(cache, TwoGemms());
  const cuda::CudaProgram second(cache, TwoGemms());
  EXPECT_TRUE(Launch(cache, first));
  EXPECT_TRUE(Launch(cache, second));
  {
    const cuda::CudaProgram third(cache, TwoGemms());
    EXPECT_TRUE(Launch(cache, third));
  }
  EXPECT_EQ(destroyed(), 0);
  Finish();
  EXPECT_EQ(destroyed(), 3);
}

TEST_F(CudaGraphCacheTest, LimitsTheMemoryOfAllAndWhatNeedsMoreIsNoGraph) {
  const std::uint64_t one = card_->GemmWorkspaceBytes();
  cuda::GraphCache cache(*card_, memory_, plans_, pinned_, /*max_graphs=*/10,
                         /*max_bytes=*/2 * one);
  const cuda::CudaProgram first(cache, TwoGemms());
  const cuda::CudaProgram second(cache, TwoGemms());
  const cuda::CudaProgram third(cache, TwoGemms());
  for (const cuda::CudaProgram* program : {&first, &second, &third}) {
    EXPECT_TRUE(Launch(cache, *program));
    Finish();
  }
  EXPECT_EQ(destroyed(), 1);
  const std::vector<std::int64_t> indices(2 * one / sizeof(std::int64_t) + 1);
  const cuda::CudaProgram large(cache, {GatherOf(data_, data_, indices), FillOf(data_, 1)});
  EXPECT_FALSE(Launch(cache, large));
  EXPECT_EQ(captures(), 3);
}

TEST_F(CudaGraphCacheTest, ClearLetsAllGo) {
  cuda::GraphCache cache(*card_, memory_, plans_, pinned_);
  const cuda::CudaProgram program(cache, TwoFills());
  EXPECT_FALSE(cache.Clear());
  EXPECT_TRUE(Launch(cache, program));
  Finish();
  EXPECT_TRUE(cache.Clear());
  EXPECT_EQ(destroyed(), 1);
  EXPECT_TRUE(Launch(cache, program));
  EXPECT_EQ(captures(), 2);
}

TEST_F(CudaGraphCacheTest, AGraphKeepsItsPlans) {
  cuda::PlanCache plans(*card_, 1);
  cuda::GraphCache cache(*card_, memory_, plans, pinned_);
  const auto convolution = [this](std::int64_t images) {
    return ops::Conv2dForward{.shape = Conv2dShape::For({images, 1, 1, 1}, {1, 1, 1, 1}),
                              .input = AddressOf(data_),
                              .filter = AddressOf(data_ + 64),
                              .output = AddressOf(data_ + 128)};
  };
  {
    const cuda::CudaProgram program(cache, {convolution(1), convolution(2), convolution(3)});
    EXPECT_TRUE(Launch(cache, program));
    Finish();
    // Both passes over the ops made them.
    EXPECT_EQ(card_->calls("DestroyConvolution"), 0);
    EXPECT_TRUE(Launch(cache, program));
    Finish();
  }
  EXPECT_GE(card_->calls("DestroyConvolution"), 2);
}

TEST_F(CudaGraphCacheTest, OpsThatTakeOtherMemoryThanWasMeasuredFail) {
  cuda::GraphNeeds needs;
  const std::vector<std::byte> source(300);
  cuda::GraphContext measures(*card_, cuda::StreamHandle{}, plans_, pinned_, resources_, nullptr,
                              needs);
  EXPECT_THAT(measures.Upload(source).status(), IsOk());
  EXPECT_THAT(measures.Workspace(100).status(), IsOk());
  measures.NextOp();
  EXPECT_THAT(measures.Workspace(200).status(), IsOk());
  EXPECT_THAT(measures.Workspace(20).status(), IsOk());
  EXPECT_EQ(needs.uploads.size(), 512u);
  EXPECT_EQ(needs.workspace_bytes, 512u);
  cuda::GraphContext uses(*card_, stream_, plans_, pinned_, resources_, data_, needs);
  EXPECT_EQ(*uses.Upload(source), data_);
  EXPECT_THAT(uses.Upload(source).status(), IsStatus(absl::StatusCode::kInternal, "1024 bytes"));
  EXPECT_EQ(*uses.Workspace(100), data_ + 512);
  EXPECT_EQ(*uses.Workspace(100), data_ + 768);
  EXPECT_THAT(uses.Workspace(1).status(), IsStatus(absl::StatusCode::kInternal, "768 bytes"));
}

// ---- A client's memory comes first ----

TEST_F(CudaGraphTest, GraphsGoWhereMemoryIsAskedForThatTheyHave) {
  const ProgramPointer program = Make({GemmOf(a_, b_, c_), GemmOf(b_, c_, a_)});
  EXPECT_THAT(Run(program).Status(), IsOk());
  const std::uint64_t all = device_->info().total_memory_bytes - 3 * kBytes;
  const absl::StatusOr<std::byte*> data = device_->Allocate(all, {});
  ASSERT_THAT(data.status(), IsOk());
  EXPECT_EQ(destroyed(), 1);
  device_->Release(*data, all);
  EXPECT_THAT(Run(program).Status(), IsOk());
  EXPECT_EQ(captures(), 2);
}

}  // namespace
}  // namespace acceld
