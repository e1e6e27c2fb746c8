// Programs on a device that runs ops as programs of its own.
#include <vector>

#include "tests/unit/backends/context/context_test_base.h"

namespace acceld {
namespace {

class DeviceProgramTest : public ContextTest {
 protected:
  DeviceProgramTest() {
    host_->programs = true;
    a_ = Alloc();
    b_ = Alloc();
  }

  static ProgramItem FillOf(Address target, std::uint8_t value) {
    return ops::Memset{.target = target, .value = value, .bytes = kBytes};
  }
  static ProgramItem RecordOf(Event event) { return EventItem{.event = event, .records = true}; }

  Program Define(std::vector<ProgramItem> items) {
    const absl::StatusOr<Program> program = context_->DefineProgram(std::move(items));
    EXPECT_THAT(program.status(), IsOk());
    return program.value_or(Program{0});
  }
  Done Replay(Program program, absl::Span<const Rebinding> rebindings = {}) {
    Done done;
    EXPECT_THAT(context_->Replay(program, rebindings, kDefaultStream, done), IsOk());
    return done;
  }

  Address a_ = 0;
  Address b_ = 0;
};

TEST_F(DeviceProgramTest, OpsThatFollowOneAnotherAreOnePieceOfWork) {
  const Program program = Define({FillOf(a_, 1), FillOf(b_, 2), FillOf(a_, 3)});
  EXPECT_THAT(Replay(program).Get(), IsOk());
  EXPECT_THAT(Replay(program).Get(), IsOk());
  EXPECT_EQ(device_->submits(), 2);
  EXPECT_EQ(host_->live_programs(), 1);
  EXPECT_EQ(ByteAt(a_), 3);
  EXPECT_EQ(ByteAt(b_), 2);
}

TEST_F(DeviceProgramTest, OneOpAloneStaysAnOp) {
  const Program program = Define({FillOf(a_, 1)});
  EXPECT_EQ(host_->live_programs(), 0);
  EXPECT_THAT(Replay(program).Get(), IsOk());
  EXPECT_EQ(ByteAt(a_), 1);
}

TEST_F(DeviceProgramTest, AnEventIsBetweenTwo) {
  const Event event = NewEvent();
  const Program program = Define({FillOf(a_, 1), FillOf(b_, 1), RecordOf(event), RecordOf(event),
                                  FillOf(a_, 2), RecordOf(event), FillOf(a_, 3), FillOf(b_, 3)});
  EXPECT_EQ(host_->live_programs(), 2);
  device_->CloseGate();
  const Done replayed = Replay(program);
  EXPECT_EQ(*context_->QueryEvent(event), false);
  device_->Pass(kDefaultQueue, 2);
  EXPECT_EQ(*context_->QueryEvent(event), true);
  EXPECT_TRUE(replayed.pending());
  device_->OpenGate();
  EXPECT_THAT(replayed.Get(), IsOk());
  EXPECT_EQ(device_->submits(), 3);
  EXPECT_EQ(ByteAt(b_), 3);
}

TEST_F(DeviceProgramTest, HasSoManyOpsAtMost) {
  constexpr std::size_t kOps = ProgramTable::kMaxDeviceProgramOps;
  std::vector<ProgramItem> items(kOps + 2, FillOf(a_, 1));
  items.back() = FillOf(a_, 9);
  const Program program = Define(std::move(items));
  EXPECT_EQ(host_->live_programs(), 2);
  EXPECT_THAT(Replay(program).Get(), IsOk());
  EXPECT_EQ(device_->submits(), 2);
  EXPECT_EQ(ByteAt(a_), 9);
}

TEST_F(DeviceProgramTest, EachBindingHasItsOwn) {
  const Program program = Define({FillOf(a_, 1), FillOf(a_, 2)});
  const Rebinding rebinding{.recorded = a_, .replacement = b_};
  EXPECT_THAT(Replay(program, {{rebinding}}).Get(), IsOk());
  EXPECT_EQ(host_->live_programs(), 2);
  EXPECT_EQ(ByteAt(a_), 0);
  EXPECT_EQ(ByteAt(b_), 2);
  EXPECT_THAT(Replay(program, {{rebinding}}).Get(), IsOk());
  EXPECT_EQ(host_->live_programs(), 2);
}

TEST_F(DeviceProgramTest, ABindingThatIsForgottenEndsItsOwn) {
  const Program program = Define({FillOf(a_, 1), FillOf(a_, 2)});
  for (std::size_t i = 0; i < ProgramTable::kMaxBindings + 3; ++i) {
    EXPECT_THAT(Replay(program, {{{.recorded = a_, .replacement = Alloc()}}}).Get(), IsOk());
  }
  EXPECT_EQ(host_->live_programs(), static_cast<int>(ProgramTable::kMaxBindings));
}

TEST_F(DeviceProgramTest, EndsWithItsProgramOnceNoReplayIsPending) {
  const Program program = Define({FillOf(a_, 1), FillOf(b_, 2)});
  device_->CloseGate();
  const Done replayed = Replay(program);
  EXPECT_THAT(context_->DestroyProgram(program), IsOk());
  EXPECT_EQ(host_->live_programs(), 1);
  device_->OpenGate();
  EXPECT_THAT(replayed.Get(), IsOk());
  EXPECT_EQ(host_->live_programs(), 0);
  EXPECT_EQ(ByteAt(b_), 2);
}

TEST_F(DeviceProgramTest, IsNotRunOnceItsMemoryIsFreed) {
  const Program program = Define({FillOf(a_, 1), FillOf(b_, 2)});
  EXPECT_THAT(Replay(program).Get(), IsOk());
  EXPECT_THAT(context_->Free(b_), IsOk());
  EXPECT_THAT(context_->Replay(program, {}, kDefaultStream), HasReason(reason::kUnknownAddress));
  EXPECT_EQ(device_->submits(), 1);
}

TEST_F(DeviceProgramTest, AFaultSkipsTheRestAndBelongsToTheStream) {
  const Event event = NewEvent();
  const Program program = Define({FillOf(a_, 1), FillOf(b_, 1), RecordOf(event), FillOf(a_, 2)});
  device_->FailSubmit(1, kFault);
  EXPECT_EQ(Replay(program).Get(), kFault);
  EXPECT_EQ(device_->submits(), 1);
  EXPECT_EQ(context_->QueryEvent(event).status(), kFault);
  EXPECT_EQ(SynchronizeStream(kDefaultStream).Get(), kFault);
  EXPECT_THAT(Replay(program).Get(), IsOk());
  EXPECT_EQ(ByteAt(a_), 2);
}

TEST_F(DeviceProgramTest, CloseLetsItFinishAndThenEndsIt) {
  const Event event = NewEvent();
  const Program program = Define({FillOf(a_, 1), FillOf(b_, 1), RecordOf(event), FillOf(a_, 2)});
  device_->CloseGate();
  const Done replayed = Replay(program);
  context_->Close();
  EXPECT_TRUE(replayed.pending());
  device_->OpenGate();
  EXPECT_THAT(replayed.Get(), HasReason(reason::kSessionEnded));
  EXPECT_EQ(device_->submits(), 1);
  EXPECT_EQ(host_->live_programs(), 0);
  EXPECT_EQ(device_->live_bytes(), 0u);
}

}  // namespace
}  // namespace acceld
