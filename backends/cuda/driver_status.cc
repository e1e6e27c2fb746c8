#include "backends/cuda/driver_status.h"

#include <string>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld::cuda {

absl::Status ToStatus(const DriverStatus& status, const DeviceInfo& info) {
  if (status.ok()) return absl::OkStatus();
  const std::string what =
      fmt::format("cuda device {}: {}: {}.", info.ordinal, status.call, status.detail);
  switch (status.code) {
    case DriverCode::kOutOfMemory:
      return OutOfMemory(what);
    case DriverCode::kMissing:
      return UnsupportedError(fmt::format("cuda device {}: {}", info.ordinal, status.detail));
    case DriverCode::kUnsupported:
      return UnsupportedError(what);
    case DriverCode::kDeviceLost:
      return DeviceError(what, reason::kDeviceLost);
    case DriverCode::kOk:
    case DriverCode::kNotReady:
    case DriverCode::kFailed:
      break;
  }
  return DeviceError(what);
}

DriverStatus LossUnlessOk(DriverStatus status) {
  if (!status.ok() && status.code != DriverCode::kNotReady) status.code = DriverCode::kDeviceLost;
  return status;
}

}  // namespace acceld::cuda
