// Whether a card still works. Once its context is gone, every call fails: the first loss is kept,
// with what ran at the time, and all later work ends with it.
#pragma once

#include <atomic>
#include <string_view>

#include "absl/status/status.h"
#include "backends/core/mutex.h"
#include "backends/device.h"

namespace acceld::cuda {

// Thread-safe.
class DeviceHealth {
 public:
  bool lost() const { return lost_.load(std::memory_order_acquire); }

  // The loss; OK where there is none.
  absl::Status status() const;

  // What work ends with that met `error` while `running` ran: the loss where `error` is one or the
  // card was lost before, else `error`.
  absl::Status Judge(const absl::Status& error, std::string_view running);

  // As Device's.
  void OnLost(LostCallback callback);

 private:
  std::atomic<bool> lost_{false};
  mutable Mutex mutex_;
  absl::Status status_ ACCELD_GUARDED_BY(mutex_);
  LostCallback on_lost_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld::cuda
