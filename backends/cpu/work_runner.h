// Runs a device's work one piece at a time, first come first served: small work in the thread that
// submits it where nothing else runs or waits, all else in one worker thread.
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "backends/core/mutex.h"
#include "backends/device.h"

namespace acceld {

// Thread-safe. How much waits is bounded by those who submit.
class WorkRunner {
 public:
  // Does one piece of work; `small` as it was submitted. Called by one thread at a time. May throw.
  using Execute = std::function<absl::Status(const Work& work, bool small)>;

  explicit WorkRunner(Execute execute) : execute_(std::move(execute)) {}
  // Finishes all work, also what its `done` submits.
  ~WorkRunner();

  // Starts the worker. Device error where the system gives no thread. Comes before any Submit.
  absl::Status Start();

  // `work` stays as it is until `done` is called, with no lock held: exactly once, in this call or
  // from another thread.
  void Submit(const Work& work, WorkDone done, bool small);

 private:
  struct Item {
    const Work* work;
    WorkDone done;
    bool small;
  };

  void WorkerLoop();
  // Runs `item` without the lock and ends what holds it; `busy_` is set meanwhile.
  void Run(Item item) ACCELD_REQUIRES(mutex_);
  Item TakeFirst() ACCELD_REQUIRES(mutex_);

  const Execute execute_;
  Mutex mutex_;
  CondVar worker_wakes_;
  // Whether a piece of work is running, or its `done`.
  bool busy_ ACCELD_GUARDED_BY(mutex_) = false;
  bool stopping_ ACCELD_GUARDED_BY(mutex_) = false;
  std::deque<Item> waiting_ ACCELD_GUARDED_BY(mutex_);
  std::thread worker_;
};

}  // namespace acceld
