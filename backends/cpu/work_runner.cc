#include "backends/cpu/work_runner.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <new>

#include "backends/core/start_thread.h"
#include "backends/core/status.h"

namespace acceld {
namespace {

// A thread that runs its own work takes up to this many further small pieces that came meanwhile
// before it leaves the rest to the worker.
constexpr int kMaxInlineRuns = 16;

absl::Status ExecuteWithoutThrowing(const WorkRunner::Execute& execute, const Work& work,
                                    bool small) {
  try {
    return execute(work, small);
  } catch (const std::bad_alloc&) {
    return OutOfMemory("The host has no memory left for the work of an op.");
  } catch (const std::exception& error) {
    return DeviceError(fmt::format("A library of the cpu device failed: {}.", error.what()));
  }
}

}  // namespace

absl::Status WorkRunner::Start() {
  // OpenMP's threads inherit the worker's mask.
  ACCELD_ASSIGN_OR_RETURN(
      worker_, StartThread("acceld-cpu", "The cpu device", "worker", [this] { WorkerLoop(); }));
  return absl::OkStatus();
}

WorkRunner::~WorkRunner() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  worker_wakes_.NotifyOne();
  if (worker_.joinable()) worker_.join();
}

WorkRunner::Item WorkRunner::TakeFirst() {
  Item item = std::move(waiting_.front());
  waiting_.pop_front();
  return item;
}

void WorkRunner::Run(Item item) {
  MutexUnlock unlock(mutex_);
  const auto start = std::chrono::steady_clock::now();
  WorkResult result;
  result.status = ExecuteWithoutThrowing(execute_, *item.work, item.small);
  result.finished = std::chrono::steady_clock::now();
  result.device_time = result.finished - start;
  // What `done` submits waits behind this, since `busy_` is still set, and is taken by this thread
  // next: nobody is woken, and the stack does not grow.
  WorkDone done = std::move(item.done);
  done(result);
}

void WorkRunner::Submit(const Work& work, WorkDone done, bool small) {
  MutexLock lock(mutex_);
  Item item{&work, std::move(done), small};
  if (busy_ || !waiting_.empty() || !small) {
    waiting_.push_back(std::move(item));
    // Who is busy looks for more itself, and work that waited already has woken the worker.
    if (!busy_ && waiting_.size() == 1) worker_wakes_.NotifyOne();
    return;
  }
  busy_ = true;
  Run(std::move(item));
  for (int i = 0; i < kMaxInlineRuns && !waiting_.empty() && waiting_.front().small; ++i) {
    Run(TakeFirst());
  }
  busy_ = false;
  if (!waiting_.empty() || stopping_) worker_wakes_.NotifyOne();
}

void WorkRunner::WorkerLoop() {
  MutexLock lock(mutex_);
  while (true) {
    worker_wakes_.Wait(mutex_, [this]() ACCELD_REQUIRES(mutex_) {
      return !busy_ && (!waiting_.empty() || stopping_);
    });
    if (waiting_.empty()) return;
    busy_ = true;
    Run(TakeFirst());
    busy_ = false;
  }
}

}  // namespace acceld
