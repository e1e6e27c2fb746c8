#include "tests/unit/backends/context/context_test_base.h"

namespace acceld {
namespace {

MATCHER(IsCancelled, "") { return absl::IsCancelled(arg); }

class CloseTest : public ContextTest {
 protected:
  const Address a_ = Alloc();
  const Event event_ = NewEvent();
  const Stream other_ = NewStream();
};

TEST_F(CloseTest, DropsWhatHasNotStartedAndFinishesWhatRuns) {
  Buffer buffer{};
  device_->CloseGate();
  const Done running = Fill(a_, 1);
  const Done dropped[] = {Fill(a_, 2), Read(buffer, a_), Record(event_), Wait(other_, event_),
                          Fill(a_, 3, other_)};
  context_->Close();
  for (const Done& done : dropped) {
    EXPECT_EQ(done.calls(), 1u);
    EXPECT_THAT(done.Get(), IsCancelled());
  }
  EXPECT_TRUE(running.pending());
  EXPECT_EQ(device_->live_bytes(), kBytes);
  device_->OpenGate();
  EXPECT_THAT(running.Get(), IsOk());
  EXPECT_EQ(running.calls(), 1u);
  EXPECT_EQ(device_->live_bytes(), 0u);
  EXPECT_EQ(device_->submits(), 1);
  for (const Done& done : dropped) EXPECT_EQ(done.calls(), 1u);
}

TEST_F(CloseTest, EndsEverySynchronizationOnce) {
  device_->CloseGate();
  Fill(a_, 1);
  Fill(a_, 2, other_);
  Record(event_);
  const Done waiting[] = {Synchronize(), SynchronizeStream(kDefaultStream),
                          SynchronizeStream(other_), SynchronizeEvent(event_), Synchronize()};
  context_->Close();
  device_->OpenGate();
  for (const Done& done : waiting) {
    EXPECT_EQ(done.calls(), 1u);
    EXPECT_THAT(done.Get(), IsCancelled());
  }
}

TEST_F(CloseTest, EndsWhoWaitsForARecordThatWasReplaced) {
  device_->CloseGate();
  Fill(a_, 1);
  Record(event_);
  const Done waiting = SynchronizeEvent(event_);
  Record(event_);
  context_->Close();
  ASSERT_EQ(waiting.calls(), 1u);
  EXPECT_THAT(waiting.Get(), IsCancelled());
}

TEST_F(CloseTest, EndsWhoWaitsForAnEventThatWasDestroyed) {
  device_->CloseGate();
  Fill(a_, 1);
  Record(event_);
  const Done waiting = SynchronizeEvent(event_);
  EXPECT_THAT(context_->DestroyEvent(event_), IsOk());
  context_->Close();
  ASSERT_EQ(waiting.calls(), 1u);
  EXPECT_THAT(waiting.Get(), IsCancelled());
}

TEST_F(CloseTest, DropsTheWorkOfDestroyedStreams) {
  device_->CloseGate();
  Fill(a_, 1);
  Record(event_);
  Wait(other_, event_);
  const Done dropped = Fill(a_, 2, other_);
  EXPECT_THAT(context_->DestroyStream(other_), IsOk());
  context_->Close();
  EXPECT_EQ(dropped.calls(), 1u);
  EXPECT_THAT(dropped.Get(), IsCancelled());
}

TEST_F(CloseTest, CallsBackInTheOrderOfSubmission) {
  device_->CloseGate();
  Fill(a_, 1);
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(context_->Run(ops::Memset{.target = a_, .bytes = 1}, kDefaultStream,
                              [&order, i](const absl::Status&) { order.push_back(i); }),
                IsOk());
  }
  context_->Close();
  EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2));
}

TEST_F(CloseTest, FreesEverythingAtOnceWhereNothingRuns) {
  Alloc(1000);
  context_->Close();
  EXPECT_EQ(device_->live_bytes(), 0u);
  EXPECT_EQ(context_->live_bytes(), 0u);
}

TEST_F(CloseTest, EveryLaterCallSaysThatTheSessionHasEnded) {
  Buffer buffer{};
  context_->Close();
  context_->Close();
  const auto ended = HasReason(reason::kSessionEnded);
  EXPECT_THAT(context_->Alloc(1, {}).status(), ended);
  EXPECT_THAT(context_->Alloc(1, {}, 1 << 20).status(), ended);
  EXPECT_THAT(context_->Free(a_), ended);
  EXPECT_THAT(context_->CheckRange(a_, 1, "It"), ended);
  EXPECT_THAT(context_->Run(ops::Memset{.target = a_, .bytes = 1}, kDefaultStream), ended);
  EXPECT_THAT(context_->Write(a_, buffer, kDefaultStream, nullptr, nullptr), ended);
  EXPECT_THAT(context_->Read(absl::MakeSpan(buffer), a_, kDefaultStream, true, nullptr, nullptr),
              ended);
  EXPECT_THAT(context_->CreateStream({}).status(), ended);
  EXPECT_THAT(context_->DestroyStream(other_), ended);
  EXPECT_THAT(context_->CreateEvent().status(), ended);
  EXPECT_THAT(context_->DestroyEvent(event_), ended);
  EXPECT_THAT(context_->RecordEvent(event_, kDefaultStream), ended);
  EXPECT_THAT(context_->WaitEvent(kDefaultStream, event_), ended);
  EXPECT_THAT(context_->QueryEvent(event_).status(), ended);
  EXPECT_THAT(context_->SynchronizeEvent(event_, nullptr), ended);
  EXPECT_THAT(context_->ElapsedTime(event_, event_).status(), ended);
  EXPECT_THAT(context_->SynchronizeStream(kDefaultStream, nullptr), ended);
  EXPECT_THAT(context_->Synchronize(nullptr), ended);
  EXPECT_EQ(device_->submits(), 0);
}

TEST_F(CloseTest, AnAllocThatWasUnderWayGivesItsMemoryBack) {
  host_->on_allocate = [&] { context_->Close(); };
  EXPECT_THAT(context_->Alloc(1, {}).status(), HasReason(reason::kSessionEnded));
  EXPECT_EQ(device_->live_bytes(), 0u);
  EXPECT_EQ(context_->live_bytes(), 0u);
}

TEST_F(CloseTest, AStreamThatWasUnderWayGivesItsQueueBack) {
  int queues = 0;
  host_->on_create_queue = [&] {
    ++queues;
    context_->Close();
  };
  host_->on_destroy_queue = [&] { --queues; };
  EXPECT_THAT(context_->CreateStream({}).status(), HasReason(reason::kSessionEnded));
  context_.reset();
  EXPECT_EQ(queues, -2);  // Those of the two streams of before as well.
  host_->on_destroy_queue = nullptr;
}

TEST_F(CloseTest, ACallbackMayClose) {
  device_->CloseGate();
  ASSERT_THAT(context_->Run(ops::Memset{.target = a_, .bytes = 1}, kDefaultStream,
                            [&](const absl::Status&) { context_->Close(); }),
              IsOk());
  const Done dropped = Fill(a_, 1);
  device_->OpenGate();
  EXPECT_EQ(dropped.calls(), 1u);
  EXPECT_EQ(device_->live_bytes(), 0u);
}

TEST_F(CloseTest, RunningWorkKeepsAContextThatNobodyElseHolds) {
  device_->CloseGate();
  const Done running = Fill(a_, 1);
  const Done next = Fill(a_, 2);
  context_.reset();
  device_->OpenGate();
  EXPECT_THAT(running.Get(), IsOk());
  EXPECT_THAT(next.Get(), IsOk());
  EXPECT_EQ(device_->live_bytes(), 0u);
}

TEST_F(CloseTest, WhoWaitsForRoomGoesOn) {
  device_->CloseGate();
  Fill(a_, 1);
  Fill(a_, 2);
  std::thread waiter([&] { context_->WaitForRoom(2); });
  context_->Close();
  waiter.join();
}

}  // namespace
}  // namespace acceld
