#include "backends/cuda/background_thread.h"

#include <utility>

#include "backends/core/start_thread.h"
#include "backends/core/status.h"

namespace acceld::cuda {

BackgroundThread::~BackgroundThread() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  changed_.NotifyAll();
  if (thread.joinable()) thread.join();
}

absl::Status BackgroundThread::Start() {
  MutexLock lock(mutex_);
  if (thread_.joinable()) return absl::OkStatus();
  ACCELD_ASSIGN_OR_RETURN(thread_,
                          StartThread(name_, "The cuda device", what_, [this] { Loop(); }));
  return absl::OkStatus();
}

void BackgroundThread::Add(std::function<void()> task) {
  {
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    ++added_;
  }
  changed_.NotifyAll();
}

bool BackgroundThread::Finish() {
  MutexLock lock(mutex_);
  const std::uint64_t last = added_;
  changed_.Wait(mutex_, [this, last]() ACCELD_REQUIRES(mutex_) { return done_ >= last; });
  return last > 0;
}

void BackgroundThread::Loop() {
  MutexLock lock(mutex_);
  while (true) {
    changed_.Wait(mutex_,
                  [this]() ACCELD_REQUIRES(mutex_) { return !tasks_.empty() || stopping_; });
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    {
      MutexUnlock unlock(mutex_);
      task();
      task = nullptr;  // What it keeps may take long to end.
    }
    ++done_;
    changed_.NotifyAll();
  }
}

}  // namespace acceld::cuda
