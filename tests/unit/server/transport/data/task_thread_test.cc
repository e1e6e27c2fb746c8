#include "server/transport/data/task_thread.h"

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/context/outcome.h"

namespace acceld {
namespace {

using ::testing::ElementsAre;

TEST(TaskThreadTest, RunsTasksInTheirOrderAndAllOfThem) {
  std::vector<int> ran;
  {
    TaskThread tasks;
    for (int i = 1; i <= 3; ++i) tasks.Add([&ran, i] { ran.push_back(i); });
  }
  EXPECT_THAT(ran, ElementsAre(1, 2, 3));
}

TEST(TaskThreadTest, RunsWhatTasksAdd) {
  std::vector<int> ran;
  {
    TaskThread tasks;
    tasks.Add([&] {
      tasks.Add([&] { ran.push_back(2); });
      ran.push_back(1);
    });
  }
  EXPECT_THAT(ran, ElementsAre(1, 2));
}

TEST(TaskThreadTest, LetsGoOfWhatATaskHeldBeforeTheNext) {
  const Outcome<bool> expired;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  TaskThread tasks;
  tasks.Add([held = std::move(held)] {});
  tasks.Add([&] { expired(watched.expired()); });
  EXPECT_TRUE(expired.Get());
}

TEST(TaskThreadTest, ATaskMayHoldTheLastOfWhatAddsATask) {
  // As a connection does that goes with its last task.
  struct AddsWhenItGoes {
    TaskThread& tasks;
    Outcome<bool> gone;
    ~AddsWhenItGoes() {
      tasks.Add([gone = gone] { gone(true); });
    }
  };
  const Outcome<bool> gone;
  TaskThread tasks;
  tasks.Add([last = std::make_shared<AddsWhenItGoes>(tasks, gone)] {});
  EXPECT_TRUE(gone.Get());
}

}  // namespace
}  // namespace acceld
