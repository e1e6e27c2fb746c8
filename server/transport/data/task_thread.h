// A thread for what may take long and must not hold up the poller: to reserve memory and to give it
// back.
#pragma once

#include <deque>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "backends/core/mutex.h"

namespace acceld {

// Thread-safe.
class TaskThread {
 public:
  using Task = absl::AnyInvocable<void()>;

  TaskThread() : thread_([this] { Work(); }) {}
  // Finishes all tasks, also those that they add.
  ~TaskThread();

  // Runs `task` after those added before.
  void Add(Task task);

 private:
  void Work();

  Mutex mutex_;
  CondVar changed_;
  std::deque<Task> tasks_ ACCELD_GUARDED_BY(mutex_);
  bool stopping_ ACCELD_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace acceld
