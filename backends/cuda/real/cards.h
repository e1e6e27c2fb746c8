// The cards of this machine.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "backends/core/device_info.h"

namespace acceld::cuda {

// Every card that CUDA shows, by ordinal, also one that cannot be used: its name is then the
// reason. Makes no context. Unavailable, with the reason, where there is none.
absl::StatusOr<std::vector<DeviceInfo>> FindCards();

}  // namespace acceld::cuda
