// The one place where the driver's codes become errors of acceld.
#pragma once

#include "absl/status/status.h"
#include "backends/core/device_info.h"
#include "backends/cuda/driver.h"

namespace acceld::cuda {

// OK, or an error that names the card, the call and CUDA's words: out of memory, unsupported, or a
// device error, with the reason DEVICE_LOST where the card's context is gone.
absl::Status ToStatus(const DriverStatus& status, const DeviceInfo& info);

// What a call comes to that asks for work or waits for it, of a handle that is there: it can only
// fail because the work has, and that ends the card's context, whatever the code. Setting the
// device, which comes first, can fail as well, and is taken for a loss then, too.
DriverStatus LossUnlessOk(DriverStatus status);

}  // namespace acceld::cuda
