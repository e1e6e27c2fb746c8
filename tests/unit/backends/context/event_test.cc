#include "tests/unit/backends/context/context_test_base.h"

namespace acceld {
namespace {

class EventTest : public ContextTest {
 protected:
  const Address a_ = Alloc();
  const Event event_ = NewEvent();
  const Stream other_ = NewStream();  // Queue 2.
  const Stream third_ = NewStream();  // Queue 3.
};

TEST_F(EventTest, AnEventNeverRecordedIsReached) {
  EXPECT_THAT(context_->QueryEvent(event_).value(), true);
  EXPECT_THAT(SynchronizeEvent(event_).Get(), IsOk());
  EXPECT_THAT(Wait(other_, event_).Get(), IsOk());
  EXPECT_FALSE(Fill(a_, 1, other_).pending());
}

TEST_F(EventTest, AWaitHoldsItsStreamUntilTheRecordIsReached) {
  device_->CloseGate(kDefaultQueue);
  Fill(a_, 1);
  const Done record = Record(event_);
  const Done wait = Wait(other_, event_);
  const Done fill = Fill(a_, 2, other_);
  EXPECT_TRUE(record.pending());
  EXPECT_TRUE(wait.pending());
  EXPECT_TRUE(fill.pending());
  EXPECT_EQ(context_->QueryEvent(event_).value(), false);
  device_->OpenGate();
  EXPECT_THAT(record.Get(), IsOk());
  EXPECT_THAT(wait.Get(), IsOk());
  EXPECT_THAT(fill.Get(), IsOk());
  EXPECT_EQ(context_->QueryEvent(event_).value(), true);
  EXPECT_EQ(ByteAt(a_), 2);
}

TEST_F(EventTest, AWaitIsForTheLatestRecordBeforeIt) {
  device_->CloseGate(kDefaultQueue);
  Record(event_, other_);  // Reached at once.
  Fill(a_, 1);
  Record(event_);
  const Done wait = Wait(third_, event_);
  EXPECT_TRUE(wait.pending());
  device_->OpenGate();
  EXPECT_FALSE(wait.pending());
}

TEST_F(EventTest, ALaterRecordDoesNotHoldAnEarlierWait) {
  device_->CloseGate(kDefaultQueue);
  device_->CloseGate(DeviceQueue{2});
  Fill(a_, 1);
  Record(event_);
  const Done wait = Wait(third_, event_);
  Fill(a_, 2, other_);
  Record(event_, other_);
  device_->OpenGate(kDefaultQueue);
  EXPECT_FALSE(wait.pending());
  EXPECT_EQ(context_->QueryEvent(event_).value(), false);
}

TEST_F(EventTest, WaitsThatNameEachOtherDoNotDeadlock) {
  const Event second = NewEvent();
  const Done wait = Wait(kDefaultStream, second);
  Record(event_);
  const Done other_wait = Wait(other_, event_);
  Record(second, other_);
  EXPECT_FALSE(wait.pending());
  EXPECT_FALSE(other_wait.pending());
}

TEST_F(EventTest, AStreamMayWaitForItsOwnRecord) {
  device_->CloseGate();
  Fill(a_, 1);
  Record(event_);
  const Done wait = Wait(kDefaultStream, event_);
  device_->OpenGate();
  EXPECT_FALSE(wait.pending());
}

TEST_F(EventTest, AllWhoWaitForARecordGoOn) {
  device_->CloseGate(kDefaultQueue);
  Fill(a_, 1);
  Record(event_);
  Wait(other_, event_);
  Wait(third_, event_);
  const Done on_other = Fill(a_, 2, other_);
  const Done on_third = Fill(a_, 3, third_);
  const Done host = SynchronizeEvent(event_);
  EXPECT_TRUE(host.pending());
  device_->OpenGate();
  EXPECT_FALSE(on_other.pending());
  EXPECT_FALSE(on_third.pending());
  EXPECT_FALSE(host.pending());
}

TEST_F(EventTest, AnEventChainsStreams) {
  const Event second = NewEvent();
  device_->CloseGate(kDefaultQueue);
  Fill(a_, 1);
  Record(event_);
  Wait(other_, event_);
  Fill(a_, 2, other_);
  Record(second, other_);
  Wait(third_, second);
  const Done last = Fill(a_, 3, third_);
  EXPECT_TRUE(last.pending());
  device_->OpenGate();
  EXPECT_FALSE(last.pending());
  EXPECT_EQ(ByteAt(a_), 3);
}

TEST_F(EventTest, SynchronizeEventWaitsForTheLatestRecordOfItsTime) {
  device_->CloseGate();
  Fill(a_, 1);
  Record(event_);
  const Done first = SynchronizeEvent(event_);
  Fill(a_, 2, other_);
  Record(event_, other_);
  const Done second = SynchronizeEvent(event_);
  device_->OpenGate(kDefaultQueue);
  EXPECT_FALSE(first.pending());
  EXPECT_TRUE(second.pending());
  device_->OpenGate();
  EXPECT_FALSE(second.pending());
}

TEST_F(EventTest, ADestroyedEventStillReleasesWhoWaitsForIt) {
  device_->CloseGate(kDefaultQueue);
  Fill(a_, 1);
  Record(event_);
  const Done stream_wait = Wait(other_, event_);
  const Done host_wait = SynchronizeEvent(event_);
  EXPECT_THAT(context_->DestroyEvent(event_), IsOk());
  device_->OpenGate();
  EXPECT_THAT(stream_wait.Get(), IsOk());
  EXPECT_THAT(host_wait.Get(), IsOk());
}

TEST_F(EventTest, ADestroyedStreamThatWaitsStillGoesOn) {
  device_->CloseGate(kDefaultQueue);
  Fill(a_, 1);
  Record(event_);
  Wait(other_, event_);
  const Done fill = Fill(a_, 2, other_);
  EXPECT_THAT(context_->DestroyStream(other_), IsOk());
  device_->OpenGate();
  EXPECT_THAT(fill.Get(), IsOk());
}

TEST_F(EventTest, ADestroyedEventIsUnknownAtOnceInEveryCall) {
  EXPECT_THAT(context_->DestroyEvent(event_), IsOk());
  const Event second = NewEvent();
  Record(second);
  const auto unknown = HasReason(reason::kUnknownEvent);
  EXPECT_THAT(context_->DestroyEvent(event_), unknown);
  EXPECT_THAT(context_->RecordEvent(event_, kDefaultStream), unknown);
  EXPECT_THAT(context_->WaitEvent(kDefaultStream, event_), unknown);
  EXPECT_THAT(context_->QueryEvent(event_).status(), unknown);
  EXPECT_THAT(context_->SynchronizeEvent(event_, nullptr), unknown);
  EXPECT_THAT(context_->ElapsedTime(event_, second).status(), unknown);
  EXPECT_THAT(context_->ElapsedTime(second, event_).status(), unknown);
}

TEST_F(EventTest, ElapsedTimeWantsBothRecorded) {
  const Event second = NewEvent();
  Record(second);
  EXPECT_THAT(context_->ElapsedTime(event_, second).status(), IsInvalid("never recorded"));
  EXPECT_THAT(context_->ElapsedTime(second, event_).status(), IsInvalid("never recorded"));
}

TEST_F(EventTest, ElapsedTimeWantsBothReached) {
  const Event second = NewEvent();
  Record(event_);
  device_->CloseGate();
  Fill(a_, 1);
  Record(second);
  const absl::Status pending = context_->ElapsedTime(event_, second).status();
  EXPECT_THAT(pending, IsStatus(absl::StatusCode::kFailedPrecondition, "not reached yet"));
  EXPECT_THAT(pending, HasReason(reason::kEventPending));
  device_->OpenGate();
  EXPECT_GE(context_->ElapsedTime(event_, second).value().count(), 0);
  EXPECT_LE(context_->ElapsedTime(second, event_).value().count(), 0);
  EXPECT_EQ(context_->ElapsedTime(event_, event_).value().count(), 0);
}

TEST_F(EventTest, ChosenNumbersOnlyGrow) {
  EXPECT_EQ(*context_->CreateEvent(Event{3}), Event{3});
  EXPECT_THAT(context_->CreateEvent(Event{3}).status(), IsInvalid("The event number 3"));
  EXPECT_THAT(context_->CreateEvent(Event{kServerAddressBase}).status(), IsInvalid("only grow"));
}

TEST_F(EventTest, EventsHaveALimit) {
  const auto context = MakeContext({.events = 1});
  const Event event = *context->CreateEvent();
  EXPECT_THAT(context->CreateEvent().status(), HasReason(reason::kLimitExceeded));
  EXPECT_THAT(context->DestroyEvent(event), IsOk());
  EXPECT_THAT(context->CreateEvent().status(), IsOk());
}

}  // namespace
}  // namespace acceld
