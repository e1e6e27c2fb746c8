#include "tests/testing/faulty_device.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/core/status.h"
#include "backends/null/null_device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr DeviceQueue kQueue{1};
constexpr DeviceQueue kOtherQueue{2};

// A null device that writes down what reaches it, by the bytes of each copy.
class WatchedDevice : public NullDevice {
 public:
  explicit WatchedDevice(std::vector<std::string>& log) : log_(log) {}

  void Submit(DeviceQueue queue, const Work& work, WorkDone done) override {
    log_.push_back("copy " + std::to_string(std::get<HostToDevice>(work).bytes));
    NullDevice::Submit(queue, work, std::move(done));
  }
  void DestroyQueue(DeviceQueue) override { log_.push_back("destroy"); }

 private:
  std::vector<std::string>& log_;
};

class FaultyDeviceTest : public ::testing::Test {
 protected:
  // Submits the copy of `bytes` bytes; its status joins `done_`.
  void Submit(DeviceQueue queue, std::uint64_t bytes) {
    work_.push_back(std::make_unique<Work>(HostToDevice{.bytes = bytes}));
    device_.Submit(queue, *work_.back(),
                   [this](const WorkResult& result) { done_.push_back(result.status); });
  }

  std::vector<std::string> log_;
  std::vector<absl::Status> done_;
  std::vector<std::unique_ptr<Work>> work_;
  FaultyDevice device_{std::make_unique<WatchedDevice>(log_)};
};

const absl::Status kFault = DeviceError("The device is on fire.");

TEST_F(FaultyDeviceTest, IsTheWrappedDeviceWithoutFaults) {
  EXPECT_TRUE(device_.Init().ok());
  EXPECT_EQ(device_.info().name, "null");
  EXPECT_TRUE(device_.supported_ops().all());
  Submit(kQueue, 1);
  EXPECT_THAT(done_, ElementsAre(absl::OkStatus()));
  EXPECT_THAT(log_, ElementsAre("copy 1"));
}

TEST_F(FaultyDeviceTest, FailsInit) {
  device_.FailInit(kFault);
  EXPECT_EQ(device_.Init(), kFault);
}

TEST_F(FaultyDeviceTest, FailsOnlyTheNthSubmitFromNowOn) {
  Submit(kQueue, 1);
  device_.FailSubmit(2, kFault);
  Submit(kQueue, 2);
  Submit(kQueue, 3);
  Submit(kQueue, 4);
  EXPECT_THAT(done_, ElementsAre(absl::OkStatus(), absl::OkStatus(), kFault, absl::OkStatus()));
  EXPECT_EQ(device_.submits(), 4);
}

TEST_F(FaultyDeviceTest, FailsOnlyTheNthAllocate) {
  device_.FailAllocate(2, OutOfMemory("Full."));
  const auto first = device_.Allocate(16, {});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(device_.Allocate(16, {}).status(), OutOfMemory("Full."));
  const auto third = device_.Allocate(32, {});
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(device_.live_bytes(), 48u);
  device_.Release(*first, 16);
  device_.Release(*third, 32);
  EXPECT_EQ(device_.live_bytes(), 0u);
}

TEST_F(FaultyDeviceTest, CountsHostMemory) {
  const auto host = device_.AllocateHost(64);
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(device_.live_host_bytes(), 64u);
  EXPECT_EQ(device_.live_bytes(), 0u);
  device_.ReleaseHost(*host, 64);
  EXPECT_EQ(device_.live_host_bytes(), 0u);
}

TEST_F(FaultyDeviceTest, HoldsWorkUntilTheGateOpensAndKeepsItsOrder) {
  device_.CloseGate();
  Submit(kQueue, 1);
  Submit(kQueue, 2);
  EXPECT_THAT(log_, IsEmpty());
  EXPECT_EQ(device_.held(), 2u);
  device_.OpenGate();
  EXPECT_THAT(log_, ElementsAre("copy 1", "copy 2"));
  EXPECT_EQ(device_.held(), 0u);
  Submit(kQueue, 3);
  EXPECT_EQ(log_.size(), 3u);
}

TEST_F(FaultyDeviceTest, HoldsTheWorkOfOneQueueOnly) {
  device_.CloseGate(kQueue);
  Submit(kQueue, 1);
  Submit(kOtherQueue, 2);
  EXPECT_THAT(log_, ElementsAre("copy 2"));
  device_.OpenGate(kQueue);
  EXPECT_THAT(log_, ElementsAre("copy 2", "copy 1"));
}

TEST_F(FaultyDeviceTest, OpensOneQueueOfMany) {
  device_.CloseGate();
  Submit(kQueue, 1);
  Submit(kOtherQueue, 2);
  device_.OpenGate(kOtherQueue);
  EXPECT_THAT(log_, ElementsAre("copy 2"));
  EXPECT_EQ(device_.held(), 1u);
}

TEST_F(FaultyDeviceTest, PassesSomeWorkThroughAClosedGate) {
  device_.CloseGate();
  Submit(kQueue, 1);
  Submit(kQueue, 2);
  Submit(kQueue, 3);
  device_.Pass(kQueue, 2);
  EXPECT_THAT(log_, ElementsAre("copy 1", "copy 2"));
  EXPECT_EQ(device_.held(), 1u);
}

TEST_F(FaultyDeviceTest, AFaultStaysWithItsWorkWhileItIsHeld) {
  device_.CloseGate(kQueue);
  device_.FailSubmit(1, kFault);
  Submit(kQueue, 1);
  Submit(kOtherQueue, 2);
  device_.OpenGate();
  EXPECT_THAT(done_, ElementsAre(absl::OkStatus(), kFault));
}

TEST_F(FaultyDeviceTest, DestroysAQueueAfterItsHeldWork) {
  device_.CloseGate();
  Submit(kQueue, 1);
  device_.DestroyQueue(kQueue);
  EXPECT_THAT(log_, IsEmpty());
  device_.OpenGate();
  EXPECT_THAT(log_, ElementsAre("copy 1", "destroy"));
}

TEST_F(FaultyDeviceTest, PassesOnWorkThatACallbackSubmits) {
  Work first = HostToDevice{.bytes = 1};
  device_.CloseGate();
  device_.Submit(kQueue, first, [this](const WorkResult&) { Submit(kQueue, 2); });
  device_.OpenGate();
  EXPECT_THAT(log_, ElementsAre("copy 1", "copy 2"));
}

TEST_F(FaultyDeviceTest, WaitsForWorkThatAnotherThreadSubmits) {
  device_.CloseGate();
  std::thread submitter([this] {
    Submit(kQueue, 1);
    Submit(kQueue, 2);
  });
  device_.WaitForHeld(2);
  EXPECT_EQ(device_.held(), 2u);
  submitter.join();
}

TEST_F(FaultyDeviceTest, KeepsTheOrderOfAQueueWhileTheGateOpensAndCloses) {
  constexpr std::uint64_t kCopies = 2000;
  std::thread gatekeeper([this] {
    for (int i = 0; i < 500; ++i) {
      device_.CloseGate();
      device_.OpenGate();
    }
  });
  for (std::uint64_t i = 0; i < kCopies; ++i) Submit(kQueue, i);
  gatekeeper.join();
  ASSERT_EQ(log_.size(), kCopies);
  for (std::uint64_t i = 0; i < kCopies; ++i) EXPECT_EQ(log_[i], "copy " + std::to_string(i));
}

TEST(FaultyDevice, OpensItsGatesWhenItIsDestroyed) {
  Work work = HostToDevice{.bytes = 1};
  bool done = false;
  {
    FaultyDevice device(std::make_unique<NullDevice>());
    device.CloseGate();
    device.Submit(kQueue, work, [&](const WorkResult&) { done = true; });
    EXPECT_FALSE(done);
  }
  EXPECT_TRUE(done);
}

TEST(LosableDeviceTest, IsLostOnceTheOpRunsAndFailsAllThatEndsLater) {
  FaultyDevice device(std::make_unique<NullDevice>());
  const DeviceQueue queue = *device.CreateQueue(0);
  std::vector<absl::Status> losses;
  device.LoseOn("memset", kFault);
  device.OnLost([&losses](const absl::Status& loss) { losses.push_back(loss); });
  device.CloseGate();
  const Work copy = HostToDevice{};
  const Work fill = Op(ops::Memset{});
  std::vector<absl::Status> done;
  for (const Work* work : {&copy, &fill, &copy, &fill}) {
    device.Submit(queue, *work,
                  [&done](const WorkResult& result) { done.push_back(result.status); });
  }
  const auto data = device.Allocate(16, {});
  ASSERT_TRUE(data.ok());
  device.Release(*data, 16);
  device.OpenGate();
  EXPECT_THAT(done, ElementsAre(absl::OkStatus(), kFault, kFault, kFault));
  EXPECT_THAT(losses, ElementsAre(kFault));
  EXPECT_EQ(device.Allocate(16, {}).status(), kFault);
  EXPECT_EQ(device.CreateQueue(0).status(), kFault);
}

}  // namespace
}  // namespace acceld
