#include "backends/cuda/device_health.h"

#include <string>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld::cuda {

absl::Status DeviceHealth::status() const {
  MutexLock lock(mutex_);
  return status_;
}

absl::Status DeviceHealth::Judge(const absl::Status& error, std::string_view running) {
  MutexLock lock(mutex_);
  if (!status_.ok()) return status_;
  if (GetReason(error) != reason::kDeviceLost) return error;
  const absl::string_view message = error.message();
  status_ = DeviceError(fmt::format("The device was lost while {} ran: {}", running,
                                    std::string_view(message.data(), message.size())),
                        reason::kDeviceLost);
  lost_.store(true, std::memory_order_release);
  return status_;
}

}  // namespace acceld::cuda
