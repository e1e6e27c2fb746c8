// The thread that gives back what takes long to give back, since the driver may wait for the card.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "backends/core/mutex.h"

namespace acceld::cuda {

// Thread-safe.
class ReleaseThread {
 public:
  ReleaseThread() = default;
  // Runs all that was added.
  ~ReleaseThread();
  ReleaseThread(const ReleaseThread&) = delete;
  ReleaseThread& operator=(const ReleaseThread&) = delete;

  // Comes before Add; starts the thread once. Device error where the system gives no thread.
  absl::Status Start();

  // Runs `release` after all that was added before.
  void Add(std::function<void()> release);
  // Waits for what was added so far. False where that never was anything.
  bool Finish();

 private:
  void Loop();

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> releases_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t added_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::uint64_t done_ ACCELD_GUARDED_BY(mutex_) = 0;
  bool stopping_ ACCELD_GUARDED_BY(mutex_) = false;
  std::thread thread_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld::cuda
