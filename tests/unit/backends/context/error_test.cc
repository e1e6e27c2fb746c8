#include "tests/unit/backends/context/context_test_base.h"

namespace acceld {
namespace {

class ErrorTest : public ContextTest {
 protected:
  // Makes the next piece of work on `stream` fail.
  void FailOn(Stream stream, const absl::Status& fault) {
    device_->FailSubmit(1, fault);
    EXPECT_EQ(Fill(a_, 9, stream).Get(), fault);
  }

  const Address a_ = Alloc();
  const Event event_ = NewEvent();
  const Stream other_ = NewStream();  // Queue 2.
};

TEST_F(ErrorTest, AFaultSkipsLaterWorkUntilSynchronizeStreamReturnsIt) {
  Buffer buffer{};
  FailOn(kDefaultStream, kFault);
  const std::int64_t submits = device_->submits();
  EXPECT_EQ(Fill(a_, 1).Get(), kFault);
  EXPECT_EQ(Write(a_, buffer).Get(), kFault);
  EXPECT_EQ(Read(buffer, a_, kDefaultStream, false).Get(), kFault);
  EXPECT_EQ(device_->submits(), submits);
  EXPECT_EQ(SynchronizeStream(kDefaultStream).Get(), kFault);
  EXPECT_THAT(SynchronizeStream(kDefaultStream).Get(), IsOk());
  EXPECT_THAT(Fill(a_, 2).Get(), IsOk());
  EXPECT_EQ(ByteAt(a_), 2);
}

TEST_F(ErrorTest, AFaultSkipsWhatWasSubmittedBeforeItShowed) {
  device_->CloseGate();
  device_->FailSubmit(1, kFault);
  Fill(a_, 1);
  const Done skipped = Fill(a_, 2);
  const Done synchronized = SynchronizeStream(kDefaultStream);
  const Done after = Fill(a_, 3);
  device_->OpenGate();
  EXPECT_EQ(skipped.Get(), kFault);
  EXPECT_EQ(synchronized.Get(), kFault);
  EXPECT_THAT(after.Get(), IsOk());
  EXPECT_EQ(device_->submits(), 2);
}

TEST_F(ErrorTest, AReadThatTakesTheErrorClearsIt) {
  Buffer buffer{};
  FailOn(kDefaultStream, kFault);
  EXPECT_EQ(Read(buffer, a_).Get(), kFault);
  EXPECT_THAT(Read(buffer, a_).Get(), IsOk());
  EXPECT_THAT(SynchronizeStream(kDefaultStream).Get(), IsOk());
}

TEST_F(ErrorTest, AReadThatFailsItselfTakesItsOwnError) {
  Buffer buffer{};
  device_->FailSubmit(1, kFault);
  EXPECT_EQ(Read(buffer, a_).Get(), kFault);
  EXPECT_THAT(SynchronizeStream(kDefaultStream).Get(), IsOk());
}

TEST_F(ErrorTest, AReadThatKeepsTheErrorLeavesItsOwnError) {
  Buffer buffer{};
  device_->FailSubmit(1, kFault);
  EXPECT_EQ(Read(buffer, a_, kDefaultStream, false).Get(), kFault);
  EXPECT_EQ(SynchronizeStream(kDefaultStream).Get(), kFault);
}

TEST_F(ErrorTest, AStreamKeepsItsFirstError) {
  FailOn(kDefaultStream, kFault);
  device_->FailSubmit(1, kOtherFault);
  EXPECT_EQ(Fill(a_, 1).Get(), kFault);
  EXPECT_EQ(SynchronizeStream(kDefaultStream).Get(), kFault);
}

TEST_F(ErrorTest, OtherStreamsGoOn) {
  FailOn(kDefaultStream, kFault);
  EXPECT_THAT(Fill(a_, 1, other_).Get(), IsOk());
  EXPECT_THAT(SynchronizeStream(other_).Get(), IsOk());
}

TEST_F(ErrorTest, NothingToDoSucceedsBehindAnErrorAndClearsNone) {
  FailOn(kDefaultStream, kFault);
  EXPECT_THAT(Write(a_, {}).Get(), IsOk());
  Done read;
  EXPECT_THAT(context_->Read({}, a_, kDefaultStream, true, nullptr, read), IsOk());
  EXPECT_THAT(read.Get(), IsOk());
  EXPECT_EQ(SynchronizeStream(kDefaultStream).Get(), kFault);
}

TEST_F(ErrorTest, AnEventRecordedBehindAnErrorCarriesItUntilItIsRecordedAgain) {
  const Event clean = NewEvent();
  Record(clean);
  FailOn(kDefaultStream, kFault);
  EXPECT_THAT(Record(event_).Get(), IsOk());
  EXPECT_EQ(SynchronizeStream(kDefaultStream).Get(), kFault);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(context_->QueryEvent(event_).status(), kFault);
    EXPECT_EQ(SynchronizeEvent(event_).Get(), kFault);
    EXPECT_EQ(context_->ElapsedTime(clean, event_).status(), kFault);
    EXPECT_EQ(context_->ElapsedTime(event_, clean).status(), kFault);
  }
  Record(event_);
  EXPECT_EQ(context_->QueryEvent(event_).value(), true);
  EXPECT_THAT(SynchronizeEvent(event_).Get(), IsOk());
  EXPECT_GE(context_->ElapsedTime(clean, event_).value().count(), 0);
}

TEST_F(ErrorTest, WhoWaitsForTheEventBeforeItIsReachedGetsItsError) {
  device_->CloseGate();
  device_->FailSubmit(1, kFault);
  Fill(a_, 1);
  Record(event_);
  const Done host = SynchronizeEvent(event_);
  device_->OpenGate();
  EXPECT_EQ(host.Get(), kFault);
}

TEST_F(ErrorTest, AnEventRecordedBeforeTheFaultCarriesNone) {
  device_->CloseGate();
  device_->FailSubmit(2, kFault);
  Fill(a_, 1);
  Record(event_);
  Fill(a_, 2);
  device_->OpenGate();
  EXPECT_EQ(context_->QueryEvent(event_).value(), true);
}

TEST_F(ErrorTest, AStreamThatWaitsForTheEventTakesItsError) {
  FailOn(kDefaultStream, kFault);
  Record(event_);
  EXPECT_THAT(Wait(other_, event_).Get(), IsOk());
  EXPECT_EQ(Fill(a_, 1, other_).Get(), kFault);
  EXPECT_EQ(SynchronizeStream(other_).Get(), kFault);
  EXPECT_THAT(SynchronizeStream(other_).Get(), IsOk());
  EXPECT_EQ(SynchronizeStream(kDefaultStream).Get(), kFault);
  // The event still has it, so a new wait brings it back.
  Wait(other_, event_);
  EXPECT_EQ(SynchronizeStream(other_).Get(), kFault);
}

TEST_F(ErrorTest, AStreamWithAnErrorKeepsItWhereItWaits) {
  FailOn(kDefaultStream, kFault);
  Record(event_);
  FailOn(other_, kOtherFault);
  Wait(other_, event_);
  EXPECT_EQ(SynchronizeStream(other_).Get(), kOtherFault);
}

TEST_F(ErrorTest, SynchronizeReturnsTheEarliestSubmittedErrorAndClearsAll) {
  device_->CloseGate();
  device_->FailSubmit(1, kFault);
  device_->FailSubmit(2, kOtherFault);
  Fill(a_, 1, other_);
  Fill(a_, 2);
  device_->OpenGate(kDefaultQueue);  // The later one fails first.
  const Done done = Synchronize();
  device_->OpenGate();
  EXPECT_EQ(done.Get(), kFault);
  EXPECT_THAT(SynchronizeStream(kDefaultStream).Get(), IsOk());
  EXPECT_THAT(SynchronizeStream(other_).Get(), IsOk());
  EXPECT_THAT(Synchronize().Get(), IsOk());
}

TEST_F(ErrorTest, AnErrorTakenFromAnEventIsAsOldAsItsSubmission) {
  const Stream third = NewStream();
  FailOn(kDefaultStream, kFault);
  Record(event_);
  EXPECT_EQ(SynchronizeStream(kDefaultStream).Get(), kFault);
  FailOn(other_, kOtherFault);
  Wait(third, event_);
  EXPECT_EQ(Synchronize().Get(), kFault);
}

TEST_F(ErrorTest, SynchronizeShowsTheErrorOfAStreamDestroyedBefore) {
  FailOn(other_, kFault);
  EXPECT_THAT(context_->DestroyStream(other_), IsOk());
  EXPECT_EQ(Synchronize().Get(), kFault);
  EXPECT_THAT(Synchronize().Get(), IsOk());
}

TEST_F(ErrorTest, SynchronizeShowsTheErrorOfADestroyedStreamStillAtWork) {
  device_->CloseGate();
  device_->FailSubmit(1, kFault);
  Fill(a_, 1, other_);
  EXPECT_THAT(context_->DestroyStream(other_), IsOk());
  const Done before = Synchronize();
  device_->OpenGate();
  EXPECT_EQ(before.Get(), kFault);
  EXPECT_THAT(Synchronize().Get(), IsOk());
}

TEST_F(ErrorTest, AFailedCheckIsNoErrorOfTheStream) {
  EXPECT_THAT(context_->Run(ops::Memset{.target = 1, .bytes = 1}, kDefaultStream),
              HasReason(reason::kUnknownAddress));
  EXPECT_THAT(SynchronizeStream(kDefaultStream).Get(), IsOk());
}

}  // namespace
}  // namespace acceld
