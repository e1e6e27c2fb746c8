#include <vector>

#include "fmt/format.h"
#include "tests/unit/backends/context/context_test_base.h"

namespace acceld {
namespace {

class ProgramTest : public ContextTest {
 protected:
  explicit ProgramTest(std::size_t queue_depth = 1) : ContextTest(queue_depth) {}

  static ProgramItem FillOf(Address target, std::uint8_t value) {
    return ops::Memset{.target = target, .value = value, .bytes = kBytes};
  }
  static ProgramItem CopyOf(Address target, Address source) {
    return ops::CopyDtoD{.target = target, .source = source, .bytes = kBytes};
  }
  static ProgramItem RecordOf(Event event) { return EventItem{.event = event, .records = true}; }
  static ProgramItem WaitOf(Event event) { return EventItem{.event = event}; }

  Program Define(std::vector<ProgramItem> items) {
    const absl::StatusOr<Program> program = context_->DefineProgram(std::move(items));
    EXPECT_THAT(program.status(), IsOk());
    return program.value_or(Program{0});
  }
  Done Replay(Program program, absl::Span<const Rebinding> rebindings = {},
              Stream stream = kDefaultStream) {
    Done done;
    EXPECT_THAT(context_->Replay(program, rebindings, stream, done), IsOk());
    return done;
  }

  const Address a_ = Alloc();
  const Address b_ = Alloc();
  const Event event_ = NewEvent();
  const Stream other_ = NewStream();  // Queue 2.
};

TEST_F(ProgramTest, RunsItsOpsInOrderEachTimeAndTellsTheSinkOfEach) {
  const Program program = Define({FillOf(a_, 1), CopyOf(b_, a_), FillOf(a_, 2)});
  EXPECT_EQ(device_->submits(), 0);
  EXPECT_THAT(Replay(program).Get(), IsOk());
  EXPECT_EQ(device_->submits(), 3);
  EXPECT_EQ(ByteAt(a_), 2);
  EXPECT_EQ(ByteAt(b_), 1);
  Fill(b_, 9);
  EXPECT_THAT(Replay(program).Get(), IsOk());
  EXPECT_EQ(ByteAt(b_), 1);
}

TEST_F(ProgramTest, IsDoneWhenItsLastOpIsAndLaterWorkWaits) {
  const Program program = Define({FillOf(a_, 1), FillOf(b_, 2)});
  device_->CloseGate();
  const Done replayed = Replay(program);
  const Done later = Fill(a_, 3);
  EXPECT_EQ(device_->held(), 1u);
  device_->Pass(kDefaultQueue);
  EXPECT_EQ(device_->held(), 1u);
  EXPECT_TRUE(replayed.pending());
  device_->Pass(kDefaultQueue);
  EXPECT_THAT(replayed.Get(), IsOk());
  EXPECT_TRUE(later.pending());
  device_->OpenGate();
  EXPECT_THAT(later.Get(), IsOk());
  EXPECT_EQ(ByteAt(a_), 3);
}

TEST_F(ProgramTest, ItsRecordsAndThoseBehindItHaveTheTimeOfItsWork) {
  const Event later = NewEvent();
  const Event behind = NewEvent();
  const Program program = Define({RecordOf(event_), FillOf(a_, 1), RecordOf(later)});
  host_->finished = std::chrono::steady_clock::now() + std::chrono::hours(2);
  device_->CloseGate();
  Replay(program);
  Record(behind);
  device_->OpenGate();
  EXPECT_GT(context_->ElapsedTime(event_, later).value(), std::chrono::hours(1));
  EXPECT_EQ(context_->ElapsedTime(later, behind).value(), std::chrono::hours(0));
}

TEST_F(ProgramTest, AnEmptyOneIsDoneAtOnceAndStillChecksTheStream) {
  const Program program = Define({});
  EXPECT_THAT(Replay(program).Get(), IsOk());
  EXPECT_THAT(context_->Replay(program, {}, Stream{77}), HasReason(reason::kUnknownStream));
}

TEST_F(ProgramTest, AnOpWithNothingToDoIsLeftOut) {
  const Program program = Define({ops::Memset{.target = 1, .bytes = 0}});
  EXPECT_THAT(Replay(program).Get(), IsOk());
  EXPECT_EQ(device_->submits(), 0);
}

TEST_F(ProgramTest, RunsOnAnotherStream) {
  const Program program = Define({FillOf(a_, 1)});
  device_->CloseGate(kDefaultQueue);
  EXPECT_THAT(Replay(program, {}, other_).Get(), IsOk());
}

TEST_F(ProgramTest, ARebindingHoldsForOneReplay) {
  const Address c = Alloc();
  const Program program = Define({FillOf(a_, 1), CopyOf(b_, a_)});
  Replay(program, {{{.recorded = b_, .replacement = c}}});
  EXPECT_EQ(ByteAt(b_), 0);
  EXPECT_EQ(ByteAt(c), 1);
  Fill(c, 7);
  Replay(program);
  EXPECT_EQ(ByteAt(b_), 1);
  EXPECT_EQ(ByteAt(c), 7);
}

TEST_F(ProgramTest, AFreedBufferIsAnErrorUntilItIsRebound) {
  const Address c = Alloc();
  const Program program = Define({FillOf(a_, 1)});
  EXPECT_THAT(Replay(program).Get(), IsOk());
  EXPECT_THAT(Replay(program, {{{.recorded = a_, .replacement = c}}}).Get(), IsOk());
  const std::uint64_t before = device_->live_bytes();
  EXPECT_THAT(context_->Free(a_), IsOk());
  EXPECT_EQ(device_->live_bytes(), before - kBytes);
  const std::int64_t submits = device_->submits();
  const absl::Status freed = context_->Replay(program, {}, kDefaultStream);
  EXPECT_THAT(freed, IsInvalid(fmt::format("{:#x}", a_)));
  EXPECT_THAT(freed, HasReason(reason::kUnknownAddress));
  EXPECT_EQ(device_->submits(), submits);
  EXPECT_THAT(Replay(program, {{{.recorded = a_, .replacement = c}}}).Get(), IsOk());
  EXPECT_THAT(context_->Free(c), IsOk());
  EXPECT_THAT(context_->Replay(program, {{{.recorded = a_, .replacement = c}}}, kDefaultStream),
              HasReason(reason::kUnknownAddress));
}

TEST_F(ProgramTest, AReplayKeepsTheMemoryItNames) {
  const Program program = Define({FillOf(a_, 1), FillOf(b_, 1)});
  device_->CloseGate();
  const Done replayed = Replay(program);
  const std::uint64_t before = device_->live_bytes();
  EXPECT_THAT(context_->Free(b_), IsOk());
  EXPECT_EQ(device_->live_bytes(), before);
  device_->OpenGate();
  EXPECT_THAT(replayed.Get(), IsOk());
  EXPECT_EQ(device_->live_bytes(), before - kBytes);
}

TEST_F(ProgramTest, ADestroyedOneFinishesItsReplays) {
  const Program program = Define({FillOf(a_, 1), FillOf(b_, 2)});
  device_->CloseGate();
  const Done replayed = Replay(program);
  EXPECT_THAT(context_->DestroyProgram(program), IsOk());
  EXPECT_THAT(context_->Replay(program, {}, kDefaultStream), HasReason(reason::kUnknownProgram));
  EXPECT_THAT(context_->DestroyProgram(program), HasReason(reason::kUnknownProgram));
  device_->OpenGate();
  EXPECT_THAT(replayed.Get(), IsOk());
  EXPECT_EQ(ByteAt(b_), 2);
}

TEST_F(ProgramTest, AStreamDestroyedMeanwhileFinishesItsReplays) {
  const Program program = Define({FillOf(a_, 1), FillOf(b_, 2)});
  device_->CloseGate();
  const Done replayed = Replay(program, {}, other_);
  EXPECT_THAT(context_->DestroyStream(other_), IsOk());
  device_->OpenGate();
  EXPECT_THAT(replayed.Get(), IsOk());
  EXPECT_EQ(ByteAt(b_), 2);
}

// ---- Events ----

TEST_F(ProgramTest, RecordsItsEventsWhereTheyAre) {
  const Program program = Define({FillOf(a_, 1), RecordOf(event_), FillOf(b_, 2)});
  device_->CloseGate();
  const Done replayed = Replay(program);
  const Done host = SynchronizeEvent(event_);
  EXPECT_EQ(*context_->QueryEvent(event_), false);
  device_->Pass(kDefaultQueue);
  EXPECT_THAT(host.Get(), IsOk());
  EXPECT_TRUE(replayed.pending());
  EXPECT_EQ(*context_->QueryEvent(event_), true);
  device_->OpenGate();
  EXPECT_THAT(replayed.Get(), IsOk());
}

TEST_F(ProgramTest, WaitsForTheLatestRecordAtTheTimeOfEachReplay) {
  const Program program = Define({FillOf(b_, 1), WaitOf(event_), CopyOf(b_, a_)});
  EXPECT_THAT(Replay(program).Get(), IsOk());  // The event was never recorded.
  device_->CloseGate(kDefaultQueue);
  Fill(a_, 5);
  Record(event_);
  const Done replayed = Replay(program, {}, other_);
  const Done later = Fill(b_, 6, other_);
  EXPECT_TRUE(replayed.pending());
  EXPECT_TRUE(later.pending());
  device_->OpenGate();
  EXPECT_THAT(replayed.Get(), IsOk());
  EXPECT_THAT(later.Get(), IsOk());
  EXPECT_EQ(ByteAt(b_), 6);
}

TEST_F(ProgramTest, AWaitForItsOwnRecordHoldsNothing) {
  const Program program =
      Define({RecordOf(event_), WaitOf(event_), FillOf(a_, 1), RecordOf(event_), WaitOf(event_)});
  EXPECT_THAT(Replay(program).Get(), IsOk());
  EXPECT_THAT(Replay(program).Get(), IsOk());
  EXPECT_EQ(*context_->QueryEvent(event_), true);
}

TEST_F(ProgramTest, ADestroyedEventIsAnErrorAndRecordsNothing) {
  const Event second = NewEvent();
  const Program program = Define({RecordOf(event_), RecordOf(second), FillOf(a_, 1)});
  EXPECT_THAT(context_->DestroyEvent(second), IsOk());
  EXPECT_THAT(context_->Replay(program, {}, kDefaultStream), HasReason(reason::kUnknownEvent));
  EXPECT_THAT(context_->ElapsedTime(event_, event_).status(), IsInvalid("never recorded"));
  EXPECT_EQ(device_->submits(), 0);
}

// ---- Errors of work ----

TEST_F(ProgramTest, AFaultSkipsTheRestAndBelongsToTheStream) {
  const Program program =
      Define({FillOf(a_, 1), FillOf(b_, 1), RecordOf(event_), FillOf(a_, 2), FillOf(b_, 2)});
  device_->FailSubmit(2, kFault);
  EXPECT_EQ(Replay(program).Get(), kFault);
  EXPECT_EQ(device_->submits(), 2);
  EXPECT_EQ(context_->QueryEvent(event_).status(), kFault);
  EXPECT_EQ(Replay(program).Get(), kFault);
  EXPECT_EQ(device_->submits(), 2);
  EXPECT_EQ(SynchronizeStream(kDefaultStream).Get(), kFault);
  EXPECT_THAT(Replay(program).Get(), IsOk());
  EXPECT_EQ(ByteAt(a_), 2);
}

TEST_F(ProgramTest, AFaultOfTheLastOpIsReported) {
  const Program program = Define({FillOf(a_, 1), FillOf(b_, 1)});
  device_->FailSubmit(2, kFault);
  EXPECT_EQ(Replay(program).Get(), kFault);
  EXPECT_EQ(Synchronize().Get(), kFault);
}

TEST_F(ProgramTest, AWaitTakesTheErrorOfItsEvent) {
  device_->FailSubmit(1, kFault);
  Fill(a_, 1, other_);
  Record(event_, other_);
  const Program program = Define({FillOf(a_, 1), WaitOf(event_), FillOf(b_, 3)});
  EXPECT_EQ(Replay(program).Get(), kFault);
  EXPECT_EQ(ByteAt(b_), 0);
  EXPECT_EQ(SynchronizeStream(kDefaultStream).Get(), kFault);
}

// ---- Close ----

TEST_F(ProgramTest, CloseDropsTheRestOfAReplay) {
  const Program program = Define({FillOf(a_, 1), FillOf(b_, 1), RecordOf(event_)});
  device_->CloseGate();
  const Done running = Replay(program);
  const Done host = SynchronizeEvent(event_);
  const Done waiting = Replay(program);
  context_->Close();
  EXPECT_THAT(waiting.Get(), HasReason(reason::kSessionEnded));
  EXPECT_THAT(host.Get(), HasReason(reason::kSessionEnded));
  EXPECT_TRUE(running.pending());
  device_->OpenGate();
  EXPECT_THAT(running.Get(), HasReason(reason::kSessionEnded));
  EXPECT_EQ(device_->submits(), 1);
  EXPECT_THAT(context_->Replay(program, {}, kDefaultStream), HasReason(reason::kSessionEnded));
  EXPECT_THAT(context_->DefineProgram({}).status(), HasReason(reason::kSessionEnded));
  EXPECT_THAT(context_->DestroyProgram(program), HasReason(reason::kSessionEnded));
  EXPECT_EQ(device_->live_bytes(), 0u);
}

TEST_F(ProgramTest, CloseDropsAReplayThatWaitsForAnEvent) {
  device_->CloseGate(DeviceQueue{2});
  Fill(a_, 1, other_);
  Record(event_, other_);
  const Program program = Define({FillOf(b_, 1), WaitOf(event_), FillOf(b_, 2)});
  const Done parked = Replay(program);
  EXPECT_TRUE(parked.pending());
  context_->Close();
  EXPECT_THAT(parked.Get(), HasReason(reason::kSessionEnded));
}

// ---- A device that takes more than one piece of work of a queue ----

class DeepProgramTest : public ProgramTest {
 protected:
  DeepProgramTest() : ProgramTest(3) {}
};

TEST_F(DeepProgramTest, HandsOverAsMuchAsTheDeviceTakesAcrossReplays) {
  const Program program = Define({FillOf(a_, 1), FillOf(b_, 1)});
  device_->CloseGate();
  const Done first = Replay(program);
  const Done second = Replay(program);
  const Done later = Fill(a_, 2);
  EXPECT_EQ(device_->held(), 3u);
  device_->Pass(kDefaultQueue, 2);
  EXPECT_THAT(first.Get(), IsOk());
  EXPECT_TRUE(second.pending());
  EXPECT_EQ(device_->held(), 3u);
  device_->OpenGate();
  EXPECT_THAT(second.Get(), IsOk());
  EXPECT_THAT(later.Get(), IsOk());
  EXPECT_EQ(ByteAt(a_), 2);
}

TEST_F(DeepProgramTest, AnEventWaitsForWhatIsWithTheDevice) {
  const Program program =
      Define({FillOf(a_, 1), FillOf(b_, 1), RecordOf(event_), FillOf(a_, 2), FillOf(b_, 2)});
  device_->CloseGate();
  const Done replayed = Replay(program);
  EXPECT_EQ(device_->held(), 2u);
  device_->Pass(kDefaultQueue);
  EXPECT_EQ(*context_->QueryEvent(event_), false);
  device_->Pass(kDefaultQueue);
  EXPECT_EQ(*context_->QueryEvent(event_), true);
  EXPECT_EQ(device_->held(), 2u);
  device_->OpenGate();
  EXPECT_THAT(replayed.Get(), IsOk());
}

TEST_F(DeepProgramTest, AFaultSkipsWhatIsNotWithTheDevice) {
  const Program program =
      Define({FillOf(a_, 1), FillOf(a_, 2), FillOf(a_, 3), FillOf(a_, 4), FillOf(a_, 5)});
  device_->CloseGate();
  device_->FailSubmit(1, kFault);
  const Done replayed = Replay(program);
  device_->OpenGate();
  EXPECT_EQ(replayed.Get(), kFault);
  EXPECT_EQ(device_->submits(), 3);
}

TEST_F(DeepProgramTest, CloseLetsWhatIsWithTheDeviceFinish) {
  const Program program = Define({FillOf(a_, 1), FillOf(a_, 2), FillOf(a_, 3), FillOf(a_, 4)});
  device_->CloseGate();
  const Done before = Fill(b_, 1);
  const Done replayed = Replay(program);
  EXPECT_EQ(device_->held(), 3u);
  context_->Close();
  device_->OpenGate();
  EXPECT_THAT(before.Get(), IsOk());
  EXPECT_THAT(replayed.Get(), HasReason(reason::kSessionEnded));
  EXPECT_EQ(device_->submits(), 3);
  EXPECT_EQ(device_->live_bytes(), 0u);
}

}  // namespace
}  // namespace acceld
