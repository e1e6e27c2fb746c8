// The one place where the driver's codes become errors of acceld.
#pragma once

#include "absl/status/status.h"
#include "backends/core/device_info.h"
#include "backends/cuda/driver.h"

namespace acceld::cuda {

// OK, or an error that names the card, the call and CUDA's words: out of memory, unsupported, or a
// device error, with the reason DEVICE_LOST where the card's context is gone.
absl::Status ToStatus(const DriverStatus& status, const DeviceInfo& info);

}  // namespace acceld::cuda
