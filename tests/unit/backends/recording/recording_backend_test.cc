#include "backends/recording/recording_backend.h"

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "backends/core/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

TEST(RecordingBackend, RecordsCallsInOrder) {
  RecordingBackend backend;
  std::array<std::byte, 12> bytes{};
  ASSERT_TRUE(backend.Init().ok());
  const auto address = backend.Alloc(48);
  ASSERT_TRUE(address.ok());
  EXPECT_TRUE(backend.CopyHtoD(*address, bytes).ok());
  EXPECT_TRUE(backend.Memset(*address, 7, 5).ok());
  EXPECT_TRUE(backend.CopyDtoD(*address, *address + 24, 24).ok());
  EXPECT_TRUE(backend.CopyDtoH(absl::MakeSpan(bytes), *address).ok());
  EXPECT_TRUE(backend.Synchronize().ok());
  EXPECT_TRUE(backend.Free(*address).ok());
  EXPECT_THAT(backend.calls(),
              ElementsAre(RecordedCall{"init"}, RecordedCall{"alloc", 48},
                          RecordedCall{"copy_htod", 12}, RecordedCall{"memset", 5},
                          RecordedCall{"copy_dtod", 24}, RecordedCall{"copy_dtoh", 12},
                          RecordedCall{"synchronize"}, RecordedCall{"free"}));
}

TEST(RecordingBackend, CountsTheElementsOfEachOutput) {
  RecordingBackend backend;
  EXPECT_TRUE(backend.Gemm({.m = 2, .n = 3, .k = 4, .lda = 2, .ldb = 4, .ldc = 9}).ok());
  EXPECT_TRUE(
      backend.Gemm({.type = DataType::kF64, .m = 2, .n = 3, .k = 4, .lda = 2, .ldb = 4, .ldc = 2})
          .ok());
  EXPECT_TRUE(
      backend.GemmMixedPrecision({.m = 5, .n = 1, .k = 1, .lda = 5, .ldb = 1, .ldc = 5}).ok());
  EXPECT_TRUE(backend
                  .BatchedGemm({.type = DataType::kF64,
                                .m = 2,
                                .n = 2,
                                .k = 1,
                                .lda = 2,
                                .ldb = 1,
                                .ldc = 2,
                                .stride_c = 4,
                                .batch = 3})
                  .ok());
  EXPECT_TRUE(backend.Unary({.n = 100}).ok());
  EXPECT_TRUE(backend.Binary({.n = 101}).ok());
  ops::Reduce reduce;
  reduce.shape = {4, 5, 6};
  reduce.axis = 1;
  EXPECT_TRUE(backend.Reduce(reduce).ok());
  ops::Softmax softmax;
  softmax.shape = {4, 5};
  EXPECT_TRUE(backend.Softmax(softmax).ok());
  ops::Conv2dForward conv;
  conv.shape = Conv2dShape::For({2, 3, 8, 8}, {4, 3, 3, 3});
  EXPECT_TRUE(backend.Conv2dForward(conv).ok());
  EXPECT_TRUE(
      backend.Attention({.batch = 1, .heads = 2, .seq_q = 3, .seq_kv = 9, .head_dim = 4}).ok());
  ops::Gather gather;
  gather.rows = 10;
  gather.columns = 8;
  gather.indices = {1, 1, 2};
  EXPECT_TRUE(backend.Gather(gather).ok());
  EXPECT_THAT(backend.calls(),
              ElementsAre(RecordedCall{"gemm", 6}, RecordedCall{"gemm", 6},
                          RecordedCall{"gemm_mixed_precision", 5}, RecordedCall{"batched_gemm", 12},
                          RecordedCall{"unary", 100}, RecordedCall{"binary", 101},
                          RecordedCall{"reduce", 24}, RecordedCall{"softmax", 20},
                          RecordedCall{"conv2d_forward", 2 * 4 * 6 * 6},
                          RecordedCall{"attention", 24}, RecordedCall{"gather", 24}));
}

TEST(RecordingBackend, RecordsTheStream) {
  RecordingBackend backend;
  const auto stream = backend.CreateStream();
  ASSERT_TRUE(stream.ok());
  EXPECT_NE(*stream, kDefaultStream);
  EXPECT_TRUE(backend.Unary({.n = 1}, *stream).ok());
  EXPECT_TRUE(backend.CopyHtoD(0, {}, *stream).ok());
  EXPECT_TRUE(backend.SynchronizeStream(*stream).ok());
  EXPECT_TRUE(backend.DestroyStream(*stream).ok());
  EXPECT_THAT(backend.calls(),
              ElementsAre(RecordedCall{"create_stream", 0, *stream},
                          RecordedCall{"unary", 1, *stream}, RecordedCall{"copy_htod", 0, *stream},
                          RecordedCall{"synchronize_stream", 0, *stream},
                          RecordedCall{"destroy_stream", 0, *stream}));
}

TEST(RecordingBackend, RecordsEvents) {
  RecordingBackend backend;
  const auto first = backend.CreateEvent();
  const auto second = backend.CreateEvent();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(*first, *second);
  EXPECT_TRUE(backend.RecordEvent(*first, Stream{4}).ok());
  EXPECT_TRUE(backend.WaitEvent(Stream{5}, *first).ok());
  EXPECT_TRUE(*backend.QueryEvent(*first));
  EXPECT_TRUE(backend.SynchronizeEvent(*first).ok());
  EXPECT_EQ(backend.ElapsedTime(*first, *second)->count(), 0);
  EXPECT_TRUE(backend.DestroyEvent(*first).ok());
  EXPECT_THAT(backend.calls(),
              ElementsAre(RecordedCall{"create_event"}, RecordedCall{"create_event"},
                          RecordedCall{"record_event", 0, Stream{4}},
                          RecordedCall{"wait_event", 0, Stream{5}}, RecordedCall{"query_event"},
                          RecordedCall{"synchronize_event"}, RecordedCall{"elapsed_time"},
                          RecordedCall{"destroy_event"}));
}

TEST(RecordingBackend, RecordsPrograms) {
  RecordingBackend backend;
  EXPECT_TRUE(backend.BeginRecording(Stream{4}).ok());
  EXPECT_TRUE(backend.Unary({.n = 3}, Stream{4}).ok());
  const auto first = backend.EndRecording(Stream{4});
  const auto second = backend.EndRecording(Stream{4});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(*first, *second);
  EXPECT_TRUE(backend.Replay(*first, {{{.recorded = 1, .replacement = 2}}}, Stream{5}).ok());
  EXPECT_TRUE(backend.DestroyProgram(*first).ok());
  EXPECT_THAT(
      backend.calls(),
      ElementsAre(RecordedCall{"begin_recording", 0, Stream{4}},
                  RecordedCall{"unary", 3, Stream{4}}, RecordedCall{"end_recording", 0, Stream{4}},
                  RecordedCall{"end_recording", 0, Stream{4}}, RecordedCall{"replay", 0, Stream{5}},
                  RecordedCall{"destroy_program"}));
}

TEST(RecordingBackend, NeedsNoInitAndAcceptsAnyAddress) {
  RecordingBackend backend;
  EXPECT_FALSE(backend.initialized());
  EXPECT_TRUE(backend.Free(12345).ok());
  EXPECT_TRUE(backend.Memset(0, 1, 16).ok());
  EXPECT_TRUE(backend.Unary({.n = 4, .input = 1, .output = 3}).ok());
  EXPECT_FALSE(backend.initialized());
  EXPECT_TRUE(backend.Init().ok());
  EXPECT_TRUE(backend.initialized());
}

TEST(RecordingBackend, ChecksShapesAndRecordsNoRefusedCall) {
  RecordingBackend backend;
  EXPECT_EQ(backend.Gemm({.m = 4, .n = 1, .k = 1, .lda = 3, .ldb = 1, .ldc = 4}).code(), kInvalid);
  EXPECT_EQ(backend.Unary({.op = UnaryOp{99}, .n = 1}).code(), kInvalid);
  EXPECT_EQ(backend.Unary({.n = -1}).code(), kInvalid);
  EXPECT_EQ(backend.Alloc(0).status().code(), kInvalid);
  EXPECT_EQ(backend.AllocHost(0).status().code(), kInvalid);
  EXPECT_THAT(backend.calls(), IsEmpty());
}

TEST(RecordingBackend, CountsNothingForAnEmptyOutput) {
  RecordingBackend backend;
  EXPECT_TRUE(backend.Gemm({.m = 0, .n = 3, .k = 4, .lda = 1, .ldb = 4, .ldc = 1}).ok());
  EXPECT_THAT(backend.calls(), ElementsAre(RecordedCall{"gemm", 0}));
}

TEST(RecordingBackend, HandsOutAlignedAddressesThatDoNotOverlap) {
  RecordingBackend backend;
  const auto first = backend.Alloc(1000);
  const auto second = backend.Alloc(1);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(*first, 0u);
  EXPECT_EQ(*first % 256, 0u);
  EXPECT_GE(*second, *first + 1000);
}

TEST(RecordingBackend, ACopyToTheHostGivesZeros) {
  RecordingBackend backend;
  std::array<std::byte, 3> bytes{std::byte{1}, std::byte{2}, std::byte{3}};
  EXPECT_TRUE(backend.CopyDtoH(absl::MakeSpan(bytes), 1).ok());
  EXPECT_TRUE(
      std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST(RecordingBackend, HostMemoryIsRealAndFreedOnce) {
  RecordingBackend backend;
  const auto memory = backend.AllocHost(64);
  ASSERT_TRUE(memory.ok());
  ASSERT_EQ(memory->size(), 64u);
  std::fill(memory->begin(), memory->end(), std::byte{1});
  EXPECT_EQ(backend.FreeHost(memory->data() + 1).code(), kInvalid);
  EXPECT_TRUE(backend.FreeHost(memory->data()).ok());
  EXPECT_EQ(backend.FreeHost(memory->data()).code(), kInvalid);
  EXPECT_THAT(backend.calls(),
              ElementsAre(RecordedCall{"alloc_host", 64}, RecordedCall{"free_host"}));
}

TEST(RecordingBackend, RefusesHostMemoryBeyondItsLimit) {
  RecordingBackend backend;
  EXPECT_EQ(backend.AllocHost(RecordingBackend::kMaxHostBytes + 1).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(backend.calls(), IsEmpty());
}

TEST(RecordingBackend, MapsNothing) {
  RecordingBackend backend;
  EXPECT_EQ(backend.Map(256).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(backend.Unmap(256).code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(backend.ExportHandle(256).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(backend.ImportHandle({}).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(RecordingBackend, ForgetsCallsWhenTold) {
  RecordingBackend backend;
  EXPECT_TRUE(backend.Synchronize().ok());
  backend.ClearCalls();
  EXPECT_THAT(backend.calls(), IsEmpty());
}

TEST(RecordingBackend, DescribesItself) {
  const RecordingBackend backend;
  EXPECT_EQ(backend.name(), "recording");
  EXPECT_EQ(backend.capabilities(), Capabilities());
  EXPECT_TRUE(backend.devices().empty());
  EXPECT_EQ(backend.RecommendedTile(64, 64, 64), (Tile{16, 16, 16}));
}

TEST(RecordingBackend, KeepsEveryCallOfManyThreads) {
  RecordingBackend backend;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 250; ++i) EXPECT_TRUE(backend.Alloc(1).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(backend.calls().size(), 1000u);
}

TEST(RecordedCall, DiffersByNameCountAndStream) {
  const RecordedCall call{"gemm", 6, Stream{1}};
  EXPECT_EQ(call, (RecordedCall{"gemm", 6, Stream{1}}));
  EXPECT_NE(call, (RecordedCall{"unary", 6, Stream{1}}));
  EXPECT_NE(call, (RecordedCall{"gemm", 7, Stream{1}}));
  EXPECT_NE(call, (RecordedCall{"gemm", 6, Stream{2}}));
}

TEST(RecordedCall, PrintsReadably) {
  EXPECT_EQ(::testing::PrintToString(RecordedCall{"gemm", 6, Stream{1}}), "gemm(6) on stream 1");
}

}  // namespace
}  // namespace acceld
