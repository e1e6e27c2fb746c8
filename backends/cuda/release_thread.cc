#include "backends/cuda/release_thread.h"

#include <utility>

#include "backends/core/start_thread.h"
#include "backends/core/status.h"

namespace acceld::cuda {

ReleaseThread::~ReleaseThread() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  changed_.NotifyAll();
  if (thread.joinable()) thread.join();
}

absl::Status ReleaseThread::Start() {
  MutexLock lock(mutex_);
  if (thread_.joinable()) return absl::OkStatus();
  ACCELD_ASSIGN_OR_RETURN(
      thread_, StartThread("acceld-cuda-mem", "The cuda device", "release", [this] { Loop(); }));
  return absl::OkStatus();
}

void ReleaseThread::Add(std::function<void()> release) {
  {
    MutexLock lock(mutex_);
    releases_.push_back(std::move(release));
    ++added_;
  }
  changed_.NotifyAll();
}

bool ReleaseThread::Finish() {
  MutexLock lock(mutex_);
  const std::uint64_t last = added_;
  changed_.Wait(mutex_, [this, last]() ACCELD_REQUIRES(mutex_) { return done_ >= last; });
  return last > 0;
}

void ReleaseThread::Loop() {
  MutexLock lock(mutex_);
  while (true) {
    changed_.Wait(mutex_,
                  [this]() ACCELD_REQUIRES(mutex_) { return !releases_.empty() || stopping_; });
    if (releases_.empty()) return;
    const std::function<void()> release = std::move(releases_.front());
    releases_.pop_front();
    {
      MutexUnlock unlock(mutex_);
      release();
    }
    ++done_;
    changed_.NotifyAll();
  }
}

}  // namespace acceld::cuda
