// A look at the device before anybody relies on it.
#pragma once

#include "absl/status/status.h"
#include "backends/device.h"

namespace acceld {

// Computes a small gemm on an initialized device and compares it with the reference, since there
// are processors on which a library computes wrong. Returns a device error where the results
// differ. A device that has no gemm computes none wrong.
absl::Status CheckDevice(Device& device);

}  // namespace acceld
