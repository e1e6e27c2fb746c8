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

TEST_F(QueueDepthTest, ARecordWaitsForAllTheWorkBeforeIt) {
  device_->CloseGate();
  Fill(a_, 1);
  Fill(a_, 2);
  const Done record = Record(event_);
  const Done after = Fill(a_, 3);
  EXPECT_EQ(device_->held(), 2u);
  device_->Pass(kDefaultQueue);
  EXPECT_TRUE(record.pending());
  device_->Pass(kDefaultQueue);
  EXPECT_FALSE(record.pending());
  EXPECT_EQ(device_->held(), 1u);
  EXPECT_TRUE(after.pending());
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
