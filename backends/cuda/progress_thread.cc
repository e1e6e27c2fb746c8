#include "backends/cuda/progress_thread.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "backends/core/start_thread.h"
#include "backends/core/status.h"

namespace acceld::cuda {
namespace {

// Most work is done before that; to sleep would take longer.
constexpr std::chrono::microseconds kSpin{50};
// Then it looks ever more rarely, so that long work is noticed late by this part of its time, at
// most.
constexpr int kPausePart = 16;
constexpr std::chrono::milliseconds kMaxPause{1};

}  // namespace

absl::Status ProgressThread::Start() {
  ACCELD_ASSIGN_OR_RETURN(
      thread_, StartThread("acceld-cuda", "The cuda device", "progress", [this] { Loop(); }));
  return absl::OkStatus();
}

ProgressThread::~ProgressThread() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyOne();
  if (thread_.joinable()) thread_.join();
}

void ProgressThread::Add(std::shared_ptr<CudaQueue> queue) {
  {
    MutexLock lock(mutex_);
    added_.push_back(std::move(queue));
  }
  changed_.NotifyOne();
}

void ProgressThread::Pause(std::chrono::nanoseconds since_last_move) {
  if (since_last_move < kSpin) {
    MutexUnlock unlock(mutex_);
    std::this_thread::yield();
    return;
  }
  const auto pause = std::min<std::chrono::nanoseconds>(since_last_move / kPausePart, kMaxPause);
  changed_.WaitFor(mutex_, pause, [this]() ACCELD_REQUIRES(mutex_) { return !added_.empty(); });
}

void ProgressThread::Loop() {
  using Clock = std::chrono::steady_clock;
  std::vector<std::shared_ptr<CudaQueue>> busy;
  auto last_move = Clock::now();
  MutexLock lock(mutex_);
  while (true) {
    if (busy.empty()) {
      changed_.Wait(mutex_,
                    [this]() ACCELD_REQUIRES(mutex_) { return !added_.empty() || stopping_; });
      last_move = Clock::now();
    }
    std::move(added_.begin(), added_.end(), std::back_inserter(busy));
    added_.clear();
    if (busy.empty()) return;
    bool moved = false;
    {
      MutexUnlock unlock(mutex_);
      std::erase_if(busy, [&moved](const std::shared_ptr<CudaQueue>& queue) {
        const CudaQueue::Progress progress = queue->Advance();
        if (progress == CudaQueue::Progress::kMoved) moved = true;
        return progress == CudaQueue::Progress::kIdle;
      });
    }
    if (moved) {
      last_move = Clock::now();
    } else if (!busy.empty()) {
      Pause(Clock::now() - last_move);
    }
  }
}

}  // namespace acceld::cuda
