#include "tests/unit/backends/context/context_test_base.h"

namespace acceld {
namespace {

// On a device that takes three pieces of work of a queue at a time.
class QueueDepthTest : public ContextTest {
 protected:
  QueueDepthTest() : ContextTest(3) {}

  const Address a_ = Alloc();
  const Event event_ = NewEvent();
};

TEST_F(QueueDepthTest, FillsTheDevicesQueueAndNoMore) {
  device_->CloseGate();
  Done done[] = {Fill(a_, 1), Fill(a_, 2), Fill(a_, 3), Fill(a_, 4)};
  EXPECT_EQ(device_->held(), 3u);
  device_->Pass(kDefaultQueue);
  EXPECT_FALSE(done[0].pending());
  EXPECT_TRUE(done[1].pending());
  EXPECT_EQ(device_->held(), 3u);
  device_->OpenGate();
  for (const Done& each : done) EXPECT_THAT(each.Get(), IsOk());
  EXPECT_EQ(ByteAt(a_), 4);
}

TEST_F(QueueDepthTest, ARecordWaitsForAllTheWorkBeforeItAndHoldsNoneBehind) {
  device_->CloseGate();
  Fill(a_, 1);
  Fill(a_, 2);
  const Done record = Record(event_);
  const Done after = Fill(a_, 3);
  EXPECT_EQ(device_->held(), 3u);
  device_->Pass(kDefaultQueue);
  EXPECT_TRUE(record.pending());
  device_->Pass(kDefaultQueue);
  EXPECT_FALSE(record.pending());
  EXPECT_TRUE(context_->QueryEvent(event_).value());
  EXPECT_TRUE(after.pending());
}

TEST_F(QueueDepthTest, ARecordBehindAFaultHasItsErrorAndOneBeforeItHasNone) {
  const Event later = NewEvent();
  device_->CloseGate();
  device_->FailSubmit(2, kFault);
  Fill(a_, 1);
  Record(event_);
  Fill(a_, 2);
  Record(later);
  device_->OpenGate();
  EXPECT_TRUE(context_->QueryEvent(event_).value());
  EXPECT_EQ(context_->QueryEvent(later).status(), kFault);
  EXPECT_EQ(SynchronizeStream(kDefaultStream).Get(), kFault);
}

TEST_F(QueueDepthTest, ARecordsTimeIsWhenTheDeviceWasDone) {
  const Event later = NewEvent();
  const auto start = std::chrono::steady_clock::now();
  host_->finished = start + std::chrono::hours(1);
  device_->CloseGate();
  Fill(a_, 1);
  Record(event_);
  device_->OpenGate();
  host_->finished = start + std::chrono::hours(3);
  Fill(a_, 2);
  Record(later);
  EXPECT_EQ(context_->ElapsedTime(event_, later).value(), std::chrono::hours(2));
  // What waits for a record is not before it.
  const Stream other = NewStream();
  Wait(other, later);
  Record(event_, other);
  EXPECT_EQ(context_->ElapsedTime(later, event_).value(), std::chrono::hours(0));
}

TEST_F(QueueDepthTest, WorkInTheDevicesQueueBehindAFaultGetsItsErrorAndTheRestIsSkipped) {
  device_->CloseGate();
  device_->FailSubmit(1, kFault);
  Fill(a_, 1);
  const Done behind = Fill(a_, 2);
  const Done third = Fill(a_, 3);
  const Done skipped = Fill(a_, 4);
  device_->OpenGate();
  EXPECT_EQ(behind.Get(), kFault);
  EXPECT_EQ(third.Get(), kFault);
  EXPECT_EQ(skipped.Get(), kFault);
  EXPECT_EQ(device_->submits(), 3);
  EXPECT_EQ(SynchronizeStream(kDefaultStream).Get(), kFault);
  EXPECT_THAT(Fill(a_, 5).Get(), IsOk());
}

TEST_F(QueueDepthTest, AReadBehindAFaultTakesItsError) {
  Buffer buffer{};
  device_->CloseGate();
  device_->FailSubmit(1, kFault);
  Fill(a_, 1);
  const Done read = Read(buffer, a_);
  const Done after = Fill(a_, 2);
  device_->OpenGate();
  EXPECT_EQ(read.Get(), kFault);
  EXPECT_THAT(after.Get(), IsOk());
  EXPECT_THAT(SynchronizeStream(kDefaultStream).Get(), IsOk());
}

TEST_F(QueueDepthTest, CloseDropsOnlyWhatIsNotWithTheDevice) {
  device_->CloseGate();
  const Done running[] = {Fill(a_, 1), Fill(a_, 2), Fill(a_, 3)};
  const Done dropped = Fill(a_, 4);
  context_->Close();
  EXPECT_TRUE(absl::IsCancelled(dropped.Get()));
  for (const Done& each : running) EXPECT_TRUE(each.pending());
  device_->OpenGate();
  for (const Done& each : running) EXPECT_THAT(each.Get(), IsOk());
}

}  // namespace
}  // namespace acceld
