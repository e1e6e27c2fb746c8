#include "server/transport/data/task_thread.h"

#include <utility>

namespace acceld {

TaskThread::~TaskThread() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void TaskThread::Add(Task task) {
  MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.NotifyAll();
}

void TaskThread::Work() {
  MutexLock lock(mutex_);
  while (true) {
    changed_.Wait(mutex_,
                  [this]() ACCELD_REQUIRES(mutex_) { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    MutexUnlock unlock(mutex_);
    task();
    // What the task holds goes without the lock.
    task = nullptr;
  }
}

}  // namespace acceld
