// A thread for what takes long, where the driver may wait for the card.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "backends/core/mutex.h"

namespace acceld::cuda {

// Thread-safe.
class BackgroundThread {
 public:
  // As StartThread's.
  BackgroundThread(const char* name, const char* what) : name_(name), what_(what) {}
  // Runs all that was added.
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  // Comes before Add; starts the thread once. Device error where the system gives no thread.
  absl::Status Start();

  // Runs `task` after all that was added before.
  void Add(std::function<void()> task);
  // Waits for what was added so far. False where that never was anything.
  bool Finish();

 private:
  void Loop();

  const char* const name_;
  const char* const what_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> tasks_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t added_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::uint64_t done_ ACCELD_GUARDED_BY(mutex_) = 0;
  bool stopping_ ACCELD_GUARDED_BY(mutex_) = false;
  std::thread thread_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld::cuda
