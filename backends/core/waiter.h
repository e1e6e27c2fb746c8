// Turns a call with a callback into one that waits.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "backends/core/mutex.h"

namespace acceld {

// One result that one thread sets and another waits for. Copies share it, so a copy may be the
// callback.
template <typename T>
class Waiter {
 public:
  Waiter() : state_(std::make_shared<State>()) {}

  // Called once.
  void operator()(T result) const {
    MutexLock lock(state_->mutex);
    state_->result = std::move(result);
    state_->set.NotifyAll();
  }

  T Wait() const {
    MutexLock lock(state_->mutex);
    state_->set.Wait(state_->mutex, [this] { return state_->result.has_value(); });
    return *std::move(state_->result);
  }

 private:
  struct State {
    Mutex mutex;
    CondVar set;
    std::optional<T> result;
  };
  std::shared_ptr<State> state_;
};

}  // namespace acceld
