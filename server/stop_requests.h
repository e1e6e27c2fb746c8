// What ends the daemon: a signal, an administrator's request to drain, or the loss of a device.
#pragma once

#include <chrono>
#include <optional>

#include "backends/core/mutex.h"
#include "backends/core/unique_fd.h"
#include "server/session/device_pool.h"

namespace acceld {

// Blocks the signals that StopRequests takes, SIGTERM and SIGINT, in this thread and those it
// starts from now on.
void BlockStopSignals();

// One thread waits.
class StopRequests {
 public:
  StopRequests();
  StopRequests(const StopRequests&) = delete;
  StopRequests& operator=(const StopRequests&) = delete;

  // False where the system gave no descriptors.
  bool ok() const { return signals_.valid() && wake_up_.valid(); }

  // Any thread may call these.
  void RequestDrain();
  void ReportLoss(const DeviceLoss& loss);

  // The first loss that was reported.
  std::optional<DeviceLoss> loss() const;

  // Waits for a request, at most `timeout`; negative waits for good. Returns whether there was one.
  // Only a signal counts where `signals_only`.
  bool Wait(std::chrono::milliseconds timeout, bool signals_only) const;

 private:
  UniqueFd signals_;
  UniqueFd wake_up_;
  mutable Mutex mutex_;
  std::optional<DeviceLoss> loss_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld
