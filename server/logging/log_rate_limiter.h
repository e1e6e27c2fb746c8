// Keeps a message that a client can repeat at will from filling the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "backends/core/mutex.h"

namespace acceld {

// Admits one message per interval and counts the others. Thread-safe.
class LogRateLimiter {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LogRateLimiter(Clock::duration interval) : interval_(interval) {}

  // How many messages were held back since the last one admitted, where this one may be logged;
  // nothing where it is held back.
  std::optional<std::uint64_t> Admit(Clock::time_point now = Clock::now()) {
    MutexLock lock(mutex_);
    if (next_.has_value() && now < *next_) {
      ++held_back_;
      return std::nullopt;
    }
    next_ = now + interval_;
    return std::exchange(held_back_, 0);
  }

 private:
  const Clock::duration interval_;
  Mutex mutex_;
  std::optional<Clock::time_point> next_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t held_back_ ACCELD_GUARDED_BY(mutex_) = 0;
};

}  // namespace acceld
