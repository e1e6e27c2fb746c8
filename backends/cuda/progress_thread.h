// The thread that completes the work of all queues of a device. While the card works, it looks at
// the first piece of work of each busy queue; it sleeps while there is none.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "backends/core/mutex.h"
#include "backends/cuda/cuda_queue.h"

namespace acceld::cuda {

// Thread-safe.
class ProgressThread {
 public:
  ProgressThread() = default;
  // Completes all work of the queues that were added, also what comes meanwhile.
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  // Comes first. Device error where the system gives no thread.
  absl::Status Start();

  // Advances `queue` until it is idle. It is not added already.
  void Add(std::shared_ptr<CudaQueue> queue);

 private:
  void Loop();
  // Waits for a while, or for another queue.
  void Pause(std::chrono::nanoseconds since_last_move) ACCELD_REQUIRES(mutex_);

  Mutex mutex_;
  CondVar changed_;
  std::vector<std::shared_ptr<CudaQueue>> added_ ACCELD_GUARDED_BY(mutex_);
  bool stopping_ ACCELD_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace acceld::cuda
