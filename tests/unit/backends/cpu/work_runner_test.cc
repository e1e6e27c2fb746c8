#include "backends/cpu/work_runner.h"

#include <atomic>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>

#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld {
namespace {

// A piece of work that says which number it has.
Work Numbered(std::uint64_t number) {
  return HostToDevice{.target = nullptr, .source = nullptr, .bytes = number};
}

std::uint64_t NumberOf(const Work& work) { return std::get<HostToDevice>(work).bytes; }

absl::Status Succeed(const Work&, bool) { return absl::OkStatus(); }

TEST(WorkRunner, RunsSmallWorkInTheThreadThatSubmitsIt) {
  WorkRunner runner(Succeed);
  ASSERT_THAT(runner.Start(), IsOk());
  std::thread::id done_in;
  runner.Submit(
      Numbered(0), [&](const WorkResult&) { done_in = std::this_thread::get_id(); },
      /*small=*/true);
  EXPECT_EQ(done_in, std::this_thread::get_id());
}

TEST(WorkRunner, RunsOtherWorkInItsWorker) {
  WorkRunner runner(Succeed);
  ASSERT_THAT(runner.Start(), IsOk());
  const Work work = Numbered(0);
  Gate done;
  std::thread::id done_in;
  runner.Submit(
      work,
      [&](const WorkResult&) {
        done_in = std::this_thread::get_id();
        done.Open();
      },
      /*small=*/false);
  done.Wait();
  EXPECT_NE(done_in, std::this_thread::get_id());
}

TEST(WorkRunner, RunsInTheOrderOfSubmission) {
  std::vector<std::uint64_t> order;
  Gate gate;
  const std::vector<Work> work = {Numbered(0), Numbered(1), Numbered(2), Numbered(3), Numbered(4)};
  {
    WorkRunner runner([&](const Work& item, bool) {
      if (NumberOf(item) == 0) gate.Wait();
      order.push_back(NumberOf(item));
      return absl::OkStatus();
    });
    ASSERT_THAT(runner.Start(), IsOk());
    for (const Work& item : work) {
      runner.Submit(
          item, [](const WorkResult&) {}, /*small=*/NumberOf(item) % 2 == 1);
    }
    gate.Open();
  }
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 3, 4));
}

TEST(WorkRunner, RunsOnePieceAtATimeAndCallsEachDoneOnce) {
  std::atomic<bool> running = false;
  std::atomic<int> overlaps = 0;
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  const Work work = Numbered(0);
  std::vector<std::atomic<int>> done(kThreads * kEach);
  {
    WorkRunner runner([&](const Work&, bool) {
      if (running.exchange(true)) ++overlaps;
      running = false;
      return absl::OkStatus();
    });
    ASSERT_THAT(runner.Start(), IsOk());
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int j = 0; j < kEach; ++j) {
          std::atomic<int>& count = done[static_cast<std::size_t>(i * kEach + j)];
          runner.Submit(
              work, [&count](const WorkResult&) { ++count; }, /*small=*/j % 3 != 0);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(overlaps, 0);
  for (const auto& count : done) ASSERT_EQ(count, 1);
}

// Each piece's `done` submits the next.
class Chain {
 public:
  Chain(WorkRunner& runner, int length, bool small)
      : runner_(runner), left_(length), small_(small) {}

  void Submit() {
    runner_.Submit(
        work_, [this](const WorkResult&) { --left_ == 0 ? finished_.Open() : Submit(); }, small_);
  }
  void Wait() { finished_.Wait(); }

 private:
  WorkRunner& runner_;
  const Work work_ = Numbered(0);
  std::atomic<int> left_;
  const bool small_;
  Gate finished_;
};

TEST(WorkRunner, TakesSubmissionsOfDoneWithoutGrowingTheStack) {
  for (const bool small : {true, false}) {
    WorkRunner runner(Succeed);
    ASSERT_THAT(runner.Start(), IsOk());
    Chain chain(runner, 200'000, small);
    chain.Submit();
    chain.Wait();
  }
}

TEST(WorkRunner, FinishesItsWorkBeforeItIsDestroyed) {
  constexpr int kCount = 50;
  std::atomic<int> done = 0;
  const Work work = Numbered(0);
  Gate gate;
  std::thread opener([&] { gate.Open(); });
  {
    WorkRunner runner([&](const Work&, bool) {
      gate.Wait();
      return absl::OkStatus();
    });
    ASSERT_THAT(runner.Start(), IsOk());
    for (int i = 0; i < kCount; ++i) {
      runner.Submit(
          work, [&](const WorkResult&) { ++done; }, /*small=*/false);
    }
  }
  opener.join();
  EXPECT_EQ(done, kCount);
}

TEST(WorkRunner, TurnsExceptionsIntoErrorsAndGoesOn) {
  WorkRunner runner([](const Work& work, bool) -> absl::Status {
    if (NumberOf(work) == 1) throw std::bad_alloc();
    if (NumberOf(work) == 2) throw std::runtime_error("the library is upset");
    return absl::OkStatus();
  });
  ASSERT_THAT(runner.Start(), IsOk());
  for (const bool small : {true, false}) {
    std::vector<absl::Status> results;
    const std::vector<Work> work = {Numbered(1), Numbered(2), Numbered(3)};
    for (const Work& item : work) {
      Gate done;
      runner.Submit(
          item,
          [&](const WorkResult& result) {
            results.push_back(result.status);
            done.Open();
          },
          small);
      done.Wait();
    }
    EXPECT_THAT(results[0], IsStatus(absl::StatusCode::kResourceExhausted, "memory"));
    EXPECT_THAT(results[1], IsStatus(absl::StatusCode::kInternal, "the library is upset"));
    EXPECT_THAT(results[2], IsOk());
  }
}

}  // namespace
}  // namespace acceld
