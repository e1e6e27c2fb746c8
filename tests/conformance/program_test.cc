// Recorded programs: what a replay does is what its calls do one by one.

#include <thread>
#include <vector>

#include "backends/core/status.h"
#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

class ProgramTest : public ConformanceTest {
 protected:
  // What `calls` submit to `stream`, as a program.
  template <typename Calls>
  Program Recorded(Stream stream, Calls calls) {
    EXPECT_TRUE(IsOk(backend().BeginRecording(stream)));
    calls();
    const absl::StatusOr<Program> program = backend().EndRecording(stream);
    EXPECT_TRUE(IsOk(program));
    return program.value_or(Program{0});
  }

  absl::Status Unary(UnaryOp op, std::int64_t n, Address input, Address output,
                     Stream stream = kDefaultStream) {
    return backend().Unary({.op = op, .n = n, .input = input, .output = output}, stream);
  }
  absl::Status Add(Address x, Address b, Stream stream = kDefaultStream) {
    return backend().Binary({.op = BinaryOp::kAdd, .n = 1, .a = x, .b = b, .output = x}, stream);
  }
  float Float(Address address) { return Floats(address, 1)[0]; }

  const Stream stream_ = kDefaultStream;
};

TEST_F(ProgramTest, RecordingRunsNothingAndAReplayDoes) {
  const Address x = Upload(std::vector<float>{1});
  const Address one = Upload(std::vector<float>{1});
  const Program program = Recorded(stream_, [&] { EXPECT_TRUE(IsOk(Add(x, one))); });
  EXPECT_EQ(Float(x), 1);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(IsOk(backend().Replay(program)));
  EXPECT_EQ(Float(x), 51);
}

// A small network's worth of ops, of sizes that no vector or block divides.
TEST_F(ProgramTest, IsBitIdenticalToItsCallsOneByOne) {
  constexpr std::int64_t kM = 37;
  constexpr std::int64_t kN = 53;
  constexpr std::int64_t kK = 193;
  const std::vector<float> a_values = random_.Floats(kM * kK);
  const std::vector<float> b_values = random_.Floats(kK * kN);
  struct Buffers {
    Address a, b, c, d, sums, rows;
  };
  const auto make = [&] {
    return Buffers{.a = Upload(a_values),
                   .b = Upload(b_values),
                   .c = Alloc(kM * kN * 4),
                   .d = Alloc(kM * kN * 4),
                   .sums = Alloc(kM * 4),
                   .rows = Alloc(3 * kN * 4)};
  };
  const auto run = [&](const Buffers& on) {
    const ops::Gemm gemm{.type = DataType::kF32,
                         .m = kM,
                         .n = kN,
                         .k = kK,
                         .a = on.a,
                         .lda = kM,
                         .b = on.b,
                         .ldb = kK,
                         .beta = 0.5,
                         .c = on.c,
                         .ldc = kM};
    EXPECT_TRUE(IsOk(backend().Gemm(gemm)));
    EXPECT_TRUE(IsOk(Unary(UnaryOp::kTanh, kM * kN, on.c, on.c)));
    EXPECT_TRUE(
        IsOk(backend().Softmax({.shape = {kM, kN}, .axis = 1, .input = on.c, .output = on.d})));
    EXPECT_TRUE(IsOk(backend().Reduce(
        {.op = ReduceOp::kSum, .shape = {kM, kN}, .axis = 1, .input = on.d, .output = on.sums})));
    EXPECT_TRUE(IsOk(backend().Gather(
        {.rows = kM, .columns = kN, .indices = {36, 0, 7}, .table = on.d, .output = on.rows})));
    EXPECT_TRUE(IsOk(backend().Memset(on.d + 1, 0x5a, kM * kN * 4 - 3)));
    EXPECT_TRUE(IsOk(backend().CopyDtoD(on.d + 8, on.c + 4, 401)));
  };
  const Buffers one_by_one = make();
  const Buffers replayed = make();
  const Program program = Recorded(stream_, [&] { run(replayed); });
  for (int i = 0; i < 3; ++i) {
    run(one_by_one);
    ASSERT_TRUE(IsOk(backend().Replay(program)));
  }
  const auto same = [&](Address expected, Address found, std::size_t count) {
    return SameBits(Floats(expected, count), Floats(found, count));
  };
  EXPECT_TRUE(same(one_by_one.c, replayed.c, kM * kN));
  EXPECT_TRUE(same(one_by_one.d, replayed.d, kM * kN));
  EXPECT_TRUE(same(one_by_one.sums, replayed.sums, kM));
  EXPECT_TRUE(same(one_by_one.rows, replayed.rows, 3 * kN));
}

TEST_F(ProgramTest, AnEmptyRecordingIsAProgramThatDoesNothing) {
  const Program program = Recorded(stream_, [] {});
  EXPECT_TRUE(IsOk(backend().Replay(program)));
  EXPECT_TRUE(IsOk(backend().Synchronize()));
  EXPECT_TRUE(IsOk(backend().DestroyProgram(program)));
}

TEST_F(ProgramTest, AnOpWithAnEmptyOutputIsRecordedAsNothing) {
  const Program program =
      Recorded(stream_, [&] { EXPECT_TRUE(IsOk(Unary(UnaryOp::kNeg, 0, kGarbage, kGarbage))); });
  EXPECT_TRUE(IsOk(backend().Replay(program)));
  EXPECT_TRUE(IsOk(backend().Synchronize()));
}

// ---- While a stream records ----

TEST_F(ProgramTest, AWrongCallFailsWhileItIsRecordedAndIsNotPartOfTheProgram) {
  const Address x = Upload(std::vector<float>{1});
  const Address one = Upload(std::vector<float>{1});
  const Program program = Recorded(stream_, [&] {
    EXPECT_TRUE(IsOk(Add(x, one)));
    EXPECT_TRUE(IsInvalidArgument(Add(x, kGarbage)));
    EXPECT_TRUE(IsInvalidArgument(Unary(UnaryOp::kNeg, 2, x, x)));
    EXPECT_TRUE(IsInvalidArgument(Unary(UnaryOp::kNeg, -1, x, x)));
    EXPECT_TRUE(HasReason(backend().RecordEvent(Event{77}), reason::kUnknownEvent));
    EXPECT_TRUE(HasReason(backend().WaitEvent(stream_, Event{77}), reason::kUnknownEvent));
    EXPECT_TRUE(IsOk(Add(x, one)));
  });
  ASSERT_TRUE(IsOk(backend().Replay(program)));
  EXPECT_EQ(Float(x), 3);
}

TEST_F(ProgramTest, WhatCannotBeRecordedSaysSo) {
  const Stream stream = NewStream();
  const Program other = Recorded(stream_, [] {});
  std::vector<float> value{2};
  const Address x = Upload(value);
  const auto is_recording = [](const absl::Status& status) {
    const auto code = HasCode(status, absl::StatusCode::kFailedPrecondition);
    return code ? HasReason(status, reason::kStreamRecording) : code;
  };
  ASSERT_TRUE(IsOk(backend().BeginRecording(stream)));
  EXPECT_TRUE(is_recording(backend().BeginRecording(stream)));
  EXPECT_TRUE(is_recording(backend().CopyHtoD(x, AsBytes(value), stream)));
  EXPECT_TRUE(is_recording(backend().CopyDtoH(AsWritableBytes(value), x, stream)));
  EXPECT_TRUE(is_recording(backend().SynchronizeStream(stream)));
  EXPECT_TRUE(is_recording(backend().Replay(other, {}, stream)));
  EXPECT_TRUE(is_recording(backend().DestroyStream(stream)));
  // Nothing of that ended the recording or hinders others.
  EXPECT_TRUE(IsOk(backend().SynchronizeStream(stream_)));
  EXPECT_TRUE(IsOk(backend().Synchronize()));
  EXPECT_EQ(Float(x), 2);
  EXPECT_TRUE(IsOk(backend().EndRecording(stream)));
  EXPECT_TRUE(IsOk(backend().DestroyStream(stream)));
}

TEST_F(ProgramTest, OnlyAStreamThatRecordsEndsARecording) {
  EXPECT_TRUE(HasCode(backend().EndRecording(stream_), absl::StatusCode::kFailedPrecondition));
  EXPECT_TRUE(HasReason(backend().BeginRecording(Stream{77}), reason::kUnknownStream));
  EXPECT_TRUE(HasReason(backend().EndRecording(Stream{77}), reason::kUnknownStream));
}

TEST_F(ProgramTest, OtherStreamsWorkOnWhileOneRecords) {
  const Stream recording = NewStream();
  const Stream working = NewStream();
  const Address x = Upload(std::vector<float>{1});
  const Address one = Upload(std::vector<float>{1});
  const Program program = Recorded(recording, [&] {
    EXPECT_TRUE(IsOk(Add(x, one, recording)));
    EXPECT_TRUE(IsOk(Add(x, one, working)));
    EXPECT_TRUE(IsOk(backend().SynchronizeStream(working)));
    EXPECT_EQ(Float(x), 2);
  });
  ASSERT_TRUE(IsOk(backend().Replay(program)));
  EXPECT_EQ(Float(x), 3);
}

TEST_F(ProgramTest, MemoryFreedWhileItIsRecordedMakesNoProgram) {
  const Address x = Upload(std::vector<float>{1});
  ASSERT_TRUE(IsOk(backend().BeginRecording(stream_)));
  EXPECT_TRUE(IsOk(Unary(UnaryOp::kNeg, 1, x, x)));
  EXPECT_TRUE(IsOk(backend().Free(x)));
  const absl::StatusOr<Program> program = backend().EndRecording(stream_);
  EXPECT_TRUE(IsInvalidArgument(program));
  EXPECT_TRUE(HasReason(program, reason::kUnknownAddress));
  EXPECT_TRUE(IsOk(backend().SynchronizeStream(stream_)));
}

// ---- Rebinding ----

TEST_F(ProgramTest, ARebindingReplacesABufferInOneReplay) {
  const Address x = Upload(std::vector<float>{1, 10});
  const Address y = Upload(std::vector<float>{2, 20});
  const Address out = Alloc(8);
  const Address other = Alloc(8);
  const Program program =
      Recorded(stream_, [&] { EXPECT_TRUE(IsOk(Unary(UnaryOp::kNeg, 1, x + 4, out + 4))); });
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(IsOk(backend().Replay(program, {{{.recorded = x, .replacement = y}}})));
    EXPECT_EQ(Floats(out, 2), (std::vector<float>{0, -20}));
    ASSERT_TRUE(IsOk(backend().Replay(
        program, {{{.recorded = out, .replacement = other}, {.recorded = x, .replacement = y}}})));
    EXPECT_EQ(Floats(other, 2), (std::vector<float>{0, -20}));
    ASSERT_TRUE(IsOk(backend().Replay(program)));
    EXPECT_EQ(Floats(out, 2), (std::vector<float>{0, -10}));
    ASSERT_TRUE(IsOk(backend().Memset(other, 0, 8)));
  }
}

TEST_F(ProgramTest, AWrongRebindingIsReportedAndNothingIsTouched) {
  const Address x = Upload(std::vector<float>{1, 10});
  const Address out = Upload(std::vector<float>{3, 30});
  const Address small = Upload(std::vector<float>{7});
  const Program program =
      Recorded(stream_, [&] { EXPECT_TRUE(IsOk(Unary(UnaryOp::kNeg, 2, x, out))); });
  EXPECT_TRUE(IsInvalidArgument(backend().Replay(program, {{{x, small}}}), {"unary", "4"}));
  EXPECT_TRUE(IsInvalidArgument(backend().Replay(program, {{{out, small}}})));
  EXPECT_TRUE(IsInvalidArgument(backend().Replay(program, {{{small, x}}})));
  EXPECT_TRUE(IsInvalidArgument(backend().Replay(program, {{{x + 4, small}}})));
  EXPECT_TRUE(IsInvalidArgument(backend().Replay(program, {{{x, out}, {x, out}}}), {"twice"}));
  EXPECT_TRUE(HasReason(backend().Replay(program, {{{x, kGarbage}}}), reason::kUnknownAddress));
  EXPECT_TRUE(HasReason(backend().Replay(program, {{{x, out + 4}}}), reason::kUnknownAddress));
  EXPECT_TRUE(IsOk(backend().Synchronize()));
  EXPECT_EQ(Floats(out, 2), (std::vector<float>{3, 30}));
  // In place is what the op allows.
  ASSERT_TRUE(IsOk(backend().Replay(program, {{{x, out}}})));
  EXPECT_EQ(Floats(out, 2), (std::vector<float>{-3, -30}));
}

TEST_F(ProgramTest, ARebindingMayNotMakeOperandsOverlap) {
  const Address x = Upload(std::vector<float>(8, 1));
  const Address y = Upload(std::vector<float>(8, 2));
  const Program program =
      Recorded(stream_, [&] { EXPECT_TRUE(IsOk(backend().CopyDtoD(y + 4, x, 16))); });
  EXPECT_TRUE(IsInvalidArgument(backend().Replay(program, {{{x, y}}})));
  EXPECT_TRUE(IsOk(backend().Replay(program)));
}

TEST_F(ProgramTest, FreeingABufferMakesItsReplayAnError) {
  const Address x = Upload(std::vector<float>{5});
  const Address y = Upload(std::vector<float>{6});
  const Address out = Alloc(4);
  const Program program =
      Recorded(stream_, [&] { EXPECT_TRUE(IsOk(Unary(UnaryOp::kNeg, 1, x, out))); });
  ASSERT_TRUE(IsOk(backend().Replay(program)));
  ASSERT_TRUE(IsOk(backend().Free(x)));
  EXPECT_TRUE(IsInvalidArgument(backend().Replay(program)));
  EXPECT_TRUE(HasReason(backend().Replay(program), reason::kUnknownAddress));
  EXPECT_EQ(Float(out), -5);
  ASSERT_TRUE(IsOk(backend().Replay(program, {{{x, y}}})));
  EXPECT_EQ(Float(out), -6);
  ASSERT_TRUE(IsOk(backend().Free(y)));
  EXPECT_TRUE(HasReason(backend().Replay(program, {{{x, y}}}), reason::kUnknownAddress));
}

// ---- Streams, events and life ----

TEST_F(ProgramTest, AProgramRunsOnAnyStreamInItsOrder) {
  const Stream stream = NewStream();
  const Address x = Upload(std::vector<float>{1});
  const Address two = Upload(std::vector<float>{2});
  const Program program = Recorded(stream_, [&] {
    EXPECT_TRUE(IsOk(
        backend().Binary({.op = BinaryOp::kMul, .n = 1, .a = x, .b = two, .output = x}, stream_)));
    EXPECT_TRUE(IsOk(Add(x, two, stream_)));
  });
  KeepBusy(stream);
  ASSERT_TRUE(IsOk(backend().Replay(program, {}, stream)));
  ASSERT_TRUE(IsOk(Add(x, two, stream)));
  ASSERT_TRUE(IsOk(backend().Replay(program, {}, stream)));
  EXPECT_EQ(Floats(x, 1, stream)[0], (1 * 2 + 2 + 2) * 2 + 2);
  EXPECT_TRUE(HasReason(backend().Replay(program, {}, Stream{77}), reason::kUnknownStream));
}

TEST_F(ProgramTest, EventsInsideAProgramTakeEffectInEachReplay) {
  const Stream producer = NewStream();
  const Stream consumer = NewStream();
  const Event ready = NewEvent();
  const Event taken = NewEvent();
  const Address x = Upload(std::vector<float>{0});
  const Address sum = Upload(std::vector<float>{0});
  const Address one = Upload(std::vector<float>{1});
  const Program produce = Recorded(producer, [&] {
    EXPECT_TRUE(IsOk(backend().WaitEvent(producer, taken)));
    EXPECT_TRUE(IsOk(Add(x, one, producer)));
    EXPECT_TRUE(IsOk(backend().RecordEvent(ready, producer)));
  });
  const Program consume = Recorded(consumer, [&] {
    EXPECT_TRUE(IsOk(backend().WaitEvent(consumer, ready)));
    EXPECT_TRUE(IsOk(Add(sum, x, consumer)));
    EXPECT_TRUE(IsOk(backend().RecordEvent(taken, consumer)));
  });
  EXPECT_TRUE(IsInvalidArgument(backend().ElapsedTime(ready, taken)));
  KeepBusy(producer);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(IsOk(backend().Replay(produce, {}, producer)));
    ASSERT_TRUE(IsOk(backend().Replay(consume, {}, consumer)));
  }
  ASSERT_TRUE(IsOk(backend().SynchronizeEvent(taken)));
  EXPECT_EQ(Float(sum), 20 * 21 / 2);
  EXPECT_TRUE(IsOk(backend().ElapsedTime(ready, taken)));
}

TEST_F(ProgramTest, ADestroyedEventMakesItsReplayAnError) {
  const Event event = NewEvent();
  const Address x = Upload(std::vector<float>{1});
  const Program program = Recorded(stream_, [&] {
    EXPECT_TRUE(IsOk(Unary(UnaryOp::kNeg, 1, x, x)));
    EXPECT_TRUE(IsOk(backend().RecordEvent(event)));
  });
  ASSERT_TRUE(IsOk(backend().DestroyEvent(event)));
  EXPECT_TRUE(HasReason(backend().Replay(program), reason::kUnknownEvent));
  EXPECT_EQ(Float(x), 1);
}

TEST_F(ProgramTest, DestroyingAProgramWithReplaysPendingLetsThemFinish) {
  const Stream stream = NewStream();
  const Address x = Upload(std::vector<float>{0});
  const Address one = Upload(std::vector<float>{1});
  const Program program = Recorded(stream, [&] { EXPECT_TRUE(IsOk(Add(x, one, stream))); });
  KeepBusy(stream);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(IsOk(backend().Replay(program, {}, stream)));
  ASSERT_TRUE(IsOk(backend().DestroyProgram(program)));
  EXPECT_TRUE(HasReason(backend().Replay(program, {}, stream), reason::kUnknownProgram));
  EXPECT_TRUE(HasReason(backend().DestroyProgram(program), reason::kUnknownProgram));
  EXPECT_EQ(Floats(x, 1, stream)[0], 10);
}

TEST_F(ProgramTest, FreeingABufferWithReplaysPendingLetsThemFinish) {
  const Stream stream = NewStream();
  const Address x = Upload(std::vector<float>{3});
  const Address out = Alloc(4);
  const Program program =
      Recorded(stream, [&] { EXPECT_TRUE(IsOk(Unary(UnaryOp::kNeg, 1, x, out, stream))); });
  KeepBusy(stream);
  ASSERT_TRUE(IsOk(backend().Replay(program, {}, stream)));
  ASSERT_TRUE(IsOk(backend().Free(x)));
  EXPECT_EQ(Floats(out, 1, stream)[0], -3);
}

TEST_F(ProgramTest, GivesEachProgramANumberOfItsOwnForever) {
  const Program first = Recorded(stream_, [] {});
  ASSERT_TRUE(IsOk(backend().DestroyProgram(first)));
  EXPECT_NE(Recorded(stream_, [] {}), first);
  EXPECT_TRUE(HasReason(backend().Replay(Program{0}), reason::kUnknownProgram));
}

TEST_F(ProgramTest, ThreadsReplayOneProgramOnTheirOwnBuffersAndStreams) {
  constexpr int kThreads = 4;
  constexpr int kReplays = 200;
  const Address x = Upload(std::vector<float>{0});
  const Address one = Upload(std::vector<float>{1});
  const Program program = Recorded(stream_, [&] {
    EXPECT_TRUE(IsOk(Add(x, one)));
    EXPECT_TRUE(IsOk(Add(x, one)));
  });
  std::vector<Stream> streams;
  std::vector<Address> own;
  for (int i = 0; i < kThreads; ++i) {
    streams.push_back(NewStream());
    own.push_back(Upload(std::vector<float>{static_cast<float>(i)}));
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < kReplays; ++j) {
        EXPECT_TRUE(IsOk(backend().Replay(program, {{{x, own[i]}}}, streams[i])));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_EQ(Floats(own[i], 1, streams[i])[0], i + 2 * kReplays);
  }
  EXPECT_EQ(Float(x), 0);
}

TEST_F(ProgramTest, TooLongAProgramIsAnErrorOfTheCallThatIsTooMuch) {
  const Address x = Upload(std::vector<float>{0});
  ASSERT_TRUE(IsOk(backend().BeginRecording(stream_)));
  absl::Status status;
  int recorded = 0;
  while (status.ok() && recorded < 100000) {
    status = backend().Memset(x, 1, 4);
    recorded += status.ok();
  }
  EXPECT_TRUE(IsInvalidArgument(status));
  EXPECT_TRUE(HasReason(status, reason::kLimitExceeded));
  EXPECT_EQ(recorded, 4096);
  const absl::StatusOr<Program> program = backend().EndRecording(stream_);
  ASSERT_TRUE(IsOk(program));
  EXPECT_TRUE(IsOk(backend().Replay(*program)));
  EXPECT_TRUE(IsOk(backend().Synchronize()));
}

}  // namespace
}  // namespace acceld::conformance
