#include "backends/cuda/device_health.h"

#include <string>
#include <utility>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld::cuda {

absl::Status DeviceHealth::status() const {
  MutexLock lock(mutex_);
  return status_;
}

absl::Status DeviceHealth::Judge(const absl::Status& error, std::string_view running) {
  LostCallback on_lost;
  absl::Status loss;
  {
    MutexLock lock(mutex_);
    if (!status_.ok()) return status_;
    if (GetReason(error) != reason::kDeviceLost) return error;
    const absl::string_view message = error.message();
    loss = DeviceError(fmt::format("The device was lost while {} ran: {}", running,
                                   std::string_view(message.data(), message.size())),
                       reason::kDeviceLost);
    status_ = loss;
    lost_.store(true, std::memory_order_release);
    on_lost = std::exchange(on_lost_, nullptr);
  }
  if (on_lost) on_lost(loss);
  return loss;
}

void DeviceHealth::OnLost(LostCallback callback) {
  absl::Status loss;
  {
    MutexLock lock(mutex_);
    loss = status_;
    if (loss.ok()) on_lost_ = std::move(callback);
  }
  if (!loss.ok()) callback(loss);
}

}  // namespace acceld::cuda
