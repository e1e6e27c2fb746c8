// std::mutex with Clang's thread-safety annotations (-Wthread-safety finds unguarded accesses), and
// visible to ThreadSanitizer, which a mutex of an uninstrumented library is not.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define ACCELD_ANNOTATE(x) __attribute__((x))
#else
#define ACCELD_ANNOTATE(x)
#endif

#define ACCELD_GUARDED_BY(x) ACCELD_ANNOTATE(guarded_by(x))
#define ACCELD_REQUIRES(...) ACCELD_ANNOTATE(requires_capability(__VA_ARGS__))
#define ACCELD_EXCLUDES(...) ACCELD_ANNOTATE(locks_excluded(__VA_ARGS__))

namespace acceld {

class ACCELD_ANNOTATE(capability("mutex")) Mutex {
 public:
  void Lock() ACCELD_ANNOTATE(acquire_capability()) { mutex_.lock(); }
  void Unlock() ACCELD_ANNOTATE(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ACCELD_ANNOTATE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACCELD_ANNOTATE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ACCELD_ANNOTATE(release_capability()) { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// The opposite of MutexLock: releases a held mutex for its scope, around a call out of the module.
class ACCELD_ANNOTATE(scoped_lockable) MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) ACCELD_ANNOTATE(release_capability(mutex)) : mutex_(mutex) {
    mutex_.Unlock();
  }
  // To Clang, the end of any scoped capability is a release, also where it takes the mutex back.
  ~MutexUnlock() ACCELD_ANNOTATE(release_capability()) { mutex_.Lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  // Waits until `ready` holds. `ready` runs with `mutex` held.
  template <typename Ready>
  void Wait(Mutex& mutex, Ready ready) ACCELD_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock, ready);
    lock.release();
  }

  // As above, but gives up after `timeout`. Returns whether `ready` holds.
  template <typename Ready>
  bool WaitFor(Mutex& mutex, std::chrono::nanoseconds timeout, Ready ready) ACCELD_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool holds = condition_.wait_for(lock, timeout, ready);
    lock.release();
    return holds;
  }

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace acceld
