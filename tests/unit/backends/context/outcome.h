// What a callback was called with.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "backends/core/mutex.h"

namespace acceld {

// Copies share what they have seen, so a copy may be the callback.
template <typename T>
class Outcome {
 public:
  void operator()(T result) const {
    MutexLock lock(state_->mutex);
    state_->results.push_back(std::move(result));
    state_->changed.NotifyAll();
  }

  std::size_t calls() const {
    MutexLock lock(state_->mutex);
    return state_->results.size();
  }
  bool pending() const { return calls() == 0; }

  // The result of the first call. Waits for it, but not for ever: without one, what `T` is by
  // default.
  T Get() const {
    MutexLock lock(state_->mutex);
    state_->changed.WaitFor(state_->mutex, std::chrono::minutes(1),
                            [this] { return !state_->results.empty(); });
    return state_->results.empty() ? T() : state_->results.front();
  }

 private:
  struct State {
    Mutex mutex;
    CondVar changed;
    std::vector<T> results;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace acceld
