#include "backends/cpu/work_runner.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <new>
#include <system_error>

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
  // Signals are for the threads of the program. OpenMP's threads inherit the worker's mask.
  sigset_t all;
  sigset_t former;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &former);
  absl::Status status;
  try {
    worker_ = std::thread([this] { WorkerLoop(); });
    pthread_setname_np(worker_.native_handle(), "acceld-cpu");
  } catch (const std::system_error& error) {
    status = DeviceError(
        fmt::format("The cpu device cannot start its worker thread: {}.", error.what()));
  }
  pthread_sigmask(SIG_SETMASK, &former, nullptr);
  return status;
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
