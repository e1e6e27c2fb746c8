#include "server/scheduler/scheduler.h"

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/faulty_device.h"
#include "tests/unit/backends/context/host_device.h"
#include "tests/unit/backends/context/outcome.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr DeviceQueue kQueue{1};

class SchedulerTest : public ::testing::Test {
 protected:
  explicit SchedulerTest(std::size_t queue_depth = 1)
      : SchedulerTest(std::make_unique<HostDevice>(), queue_depth) {}

  // Submits a copy to `flow`, whose end is written down under `name`.
  void Submit(Flow& flow, const std::string& name, DeviceQueue queue = kQueue) {
    flow.Submit(queue, copy_, [this, name](const WorkResult& result) {
      log_.push_back(result.status.ok()                 ? name
                     : absl::IsCancelled(result.status) ? name + " cancelled"
                                                        : name + " failed");
    });
  }

  const Work copy_ = HostToDevice{};
  const Work op_ = Op(ops::Memset{});
  std::vector<std::string> log_;
  HostDevice* const host_;
  FaultyDevice device_;
  Scheduler scheduler_{device_};
  const std::shared_ptr<Flow> a_ = scheduler_.AddFlow();
  const std::shared_ptr<Flow> b_ = scheduler_.AddFlow();

 private:
  SchedulerTest(std::unique_ptr<HostDevice> host, std::size_t queue_depth)
      : host_(host.get()), device_(WithDepth(std::move(host), queue_depth)) {}

  static std::unique_ptr<HostDevice> WithDepth(std::unique_ptr<HostDevice> host,
                                               std::size_t queue_depth) {
    host->depth = queue_depth;
    return host;
  }
};

class DeepSchedulerTest : public SchedulerTest {
 protected:
  static constexpr std::size_t kDepth = 8;

  DeepSchedulerTest() : SchedulerTest(kDepth) {}

  // How much of what `flow` submits now the device has, when its pieces took `device_time` before.
  std::size_t HeldOf(Flow& flow, std::chrono::nanoseconds device_time) {
    host_->device_time = device_time;
    for (int i = 0; i < 50; ++i) Submit(flow, "before");
    device_.CloseGate();
    for (std::size_t i = 0; i < 2 * kDepth; ++i) Submit(flow, "held");
    const std::size_t held = device_.held();
    device_.OpenGate();
    return held;
  }
};

TEST_F(SchedulerTest, WorkOfAnIdleDeviceGoesToItAtOnce) {
  Submit(*a_, "a1");
  EXPECT_THAT(log_, ElementsAre("a1"));
}

TEST_F(SchedulerTest, TheDeviceHasOnePieceOfWorkAtATime) {
  device_.CloseGate();
  Submit(*a_, "a1");
  Submit(*a_, "a2", DeviceQueue{2});
  Submit(*b_, "b1", DeviceQueue{3});
  EXPECT_EQ(device_.submits(), 1);
  EXPECT_EQ(device_.held(), 1u);
  device_.OpenGate();
  EXPECT_EQ(log_.size(), 3u);
}

TEST_F(DeepSchedulerTest, ADeviceIsGivenWhatKeepsItBusyForAMillisecond) {
  EXPECT_EQ(a_->queue_depth(), kDepth);
  EXPECT_EQ(HeldOf(*a_, std::chrono::microseconds(1)), kDepth);
  EXPECT_EQ(HeldOf(*a_, std::chrono::microseconds(300)), 3u);
  EXPECT_EQ(HeldOf(*a_, std::chrono::milliseconds(20)), 1u);
  EXPECT_EQ(HeldOf(*a_, std::chrono::microseconds(1)), kDepth);
}

TEST_F(DeepSchedulerTest, WhatAFlowsFirstPieceTakesIsUnknownSoItGoesAlone) {
  device_.CloseGate();
  Submit(*a_, "a1");
  Submit(*a_, "a2");
  Submit(*b_, "b1");
  EXPECT_EQ(device_.held(), 1u);
  device_.OpenGate();
  EXPECT_THAT(log_, ElementsAre("a1", "a2", "b1"));
}

// Both flows' pieces are short; yet neither can put more than the window in front of the other's.
TEST_F(DeepSchedulerTest, FlowsTakeTurnsInTheWindow) {
  HeldOf(*a_, std::chrono::microseconds(1));
  HeldOf(*b_, std::chrono::microseconds(1));
  log_.clear();
  device_.CloseGate();
  for (std::size_t i = 0; i < 2 * kDepth; ++i) Submit(*a_, "a");
  for (int i = 0; i < 2; ++i) Submit(*b_, "b");
  EXPECT_EQ(device_.held(), kDepth);
  device_.OpenGate();
  EXPECT_EQ(log_.size(), 2 * kDepth + 2);
  EXPECT_EQ(log_[kDepth + 1], "b");
  EXPECT_EQ(log_[kDepth + 3], "b");
}

TEST_F(DeepSchedulerTest, ALongPieceDoesNotJoinShortOnes) {
  HeldOf(*a_, std::chrono::microseconds(1));
  HeldOf(*b_, std::chrono::milliseconds(20));
  device_.CloseGate();
  Submit(*a_, "a1");
  Submit(*b_, "b1");
  Submit(*a_, "a2");
  EXPECT_EQ(device_.held(), 1u);
  device_.OpenGate();
}

TEST_F(SchedulerTest, FlowsTakeTurnsWhateverTheyHaveSubmittedBefore) {
  device_.CloseGate();
  for (int i = 1; i <= 4; ++i) Submit(*a_, "a" + std::to_string(i));
  for (int i = 1; i <= 2; ++i) Submit(*b_, "b" + std::to_string(i));
  device_.OpenGate();
  EXPECT_THAT(log_, ElementsAre("a1", "a2", "b1", "a3", "b2", "a4"));
}

TEST_F(SchedulerTest, WhatACallbackSubmitsWaitsForItsTurn) {
  device_.CloseGate();
  a_->Submit(kQueue, copy_, [this](const WorkResult&) {
    log_.push_back("a1");
    Submit(*a_, "a2");
  });
  Submit(*b_, "b1");
  device_.OpenGate();
  EXPECT_THAT(log_, ElementsAre("a1", "b1", "a2"));
}

TEST_F(SchedulerTest, CancelEndsWhatWaitsAndLeavesWhatRuns) {
  device_.CloseGate();
  Submit(*a_, "a1");
  Submit(*a_, "a2");
  Submit(*b_, "b1");
  Submit(*a_, "a3");
  a_->Cancel();
  EXPECT_THAT(log_, ElementsAre("a2 cancelled", "a3 cancelled"));
  device_.OpenGate();
  EXPECT_THAT(log_, ElementsAre("a2 cancelled", "a3 cancelled", "a1", "b1"));
  EXPECT_EQ(device_.submits(), 2);
}

TEST_F(SchedulerTest, WhatIsSubmittedAfterCancelNeverReachesTheDevice) {
  a_->Cancel();
  Submit(*a_, "a1");
  EXPECT_THAT(log_, ElementsAre("a1 cancelled"));
  EXPECT_EQ(device_.submits(), 0);
  Submit(*b_, "b1");
  EXPECT_EQ(device_.submits(), 1);
}

TEST_F(SchedulerTest, AFlowWithoutWorkCanBeCancelledTwice) {
  a_->Cancel();
  a_->Cancel();
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(SchedulerTest, PassesOnHowWorkWent) {
  device_.FailSubmit(1, DeviceError("The device is on fire."));
  Submit(*a_, "a1");
  Submit(*a_, "a2");
  EXPECT_THAT(log_, ElementsAre("a1 failed", "a2"));
}

TEST_F(SchedulerTest, CountsTheOpsOfAProgram) {
  const auto program = device_.MakeProgram({ops::Memset{}, ops::Memset{}, ops::Memset{}});
  const Work work = program.get();
  a_->Submit(kQueue, work, [](const WorkResult&) {});
  EXPECT_EQ(a_->ops(), 3u);
  EXPECT_EQ(device_.submits(), 1);
}

TEST_F(SchedulerTest, CountsTheOpsAndTheDeviceTimeOfEachFlow) {
  a_->Submit(kQueue, op_, [](const WorkResult&) {});
  a_->Submit(kQueue, op_, [](const WorkResult&) {});
  a_->Submit(kQueue, copy_, [](const WorkResult&) {});
  b_->Submit(kQueue, op_, [](const WorkResult&) {});
  EXPECT_EQ(a_->ops(), 2u);
  EXPECT_EQ(b_->ops(), 1u);
  EXPECT_EQ(a_->device_time(), std::chrono::microseconds(3));
  EXPECT_EQ(b_->device_time(), std::chrono::microseconds(1));
}

TEST_F(SchedulerTest, ALongBurstDoesNotExhaustTheStack) {
  constexpr int kMany = 100'000;
  int done = 0;
  device_.CloseGate();
  for (int i = 0; i < kMany; ++i) {
    a_->Submit(kQueue, copy_, [&done](const WorkResult&) { ++done; });
  }
  const Outcome<bool> last;
  a_->Submit(kQueue, copy_, [last](const WorkResult&) { last(true); });
  device_.OpenGate();
  EXPECT_TRUE(last.Get());
  EXPECT_EQ(done, kMany);
}

// A flow that always has more keeps the scheduler busy for ever; the thread that came with its
// first piece of work goes home nevertheless.
TEST_F(SchedulerTest, NoClientsThreadIsKeptToWorkForTheOthers) {
  std::atomic<bool> stop = false;
  const Outcome<bool> stopped;
  std::function<void(const WorkResult&)> again = [&](const WorkResult&) {
    if (stop) return stopped(true);
    a_->Submit(kQueue, copy_, [&](const WorkResult& result) { again(result); });
  };
  again({});
  const Outcome<bool> other;
  b_->Submit(kQueue, copy_, [other](const WorkResult&) { other(true); });
  EXPECT_TRUE(other.Get());
  stop = true;
  EXPECT_TRUE(stopped.Get());
}

TEST(SchedulerThreadsTest, ItsDestructorWaitsForTheWork) {
  for (int round = 0; round < 100; ++round) {
    const Work copy = HostToDevice{};
    HostDevice device(2);
    std::atomic<int> done = 0;
    std::shared_ptr<Flow> flow;  // The owner of work keeps its flow.
    {
      Scheduler scheduler(device);
      flow = scheduler.AddFlow();
      for (int i = 0; i < 20; ++i) {
        flow->Submit(kQueue, copy, [&done](const WorkResult&) { ++done; });
      }
    }
    EXPECT_EQ(done, 20);
  }
}

TEST(SchedulerThreadsTest, EveryPieceOfWorkEndsOnceAlsoWhereItIsCancelled) {
  constexpr int kPieces = 2000;
  const Work copy = HostToDevice{};
  HostDevice device(2);
  std::atomic<int> done = 0;
  std::shared_ptr<Flow> flows[2];
  {
    Scheduler scheduler(device);
    for (std::shared_ptr<Flow>& flow : flows) flow = scheduler.AddFlow();
    const auto client = [&](int index) {
      for (int i = 0; i < kPieces; ++i) {
        flows[index]->Submit(DeviceQueue{static_cast<std::uint64_t>(index)}, copy,
                             [&done](const WorkResult&) { ++done; });
        if (index == 0 && i == kPieces / 2) flows[1]->Cancel();
      }
    };
    std::thread first(client, 0);
    std::thread second(client, 1);
    first.join();
    second.join();
  }
  EXPECT_EQ(done, 2 * kPieces);
}

}  // namespace
}  // namespace acceld
