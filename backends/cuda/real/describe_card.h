// What CUDA says of a card, as what a device is and can do.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/core/device_info.h"

namespace acceld::cuda {

// The card of this ordinal; `reaches_a_peer` says whether it can use another card's memory.
DeviceInfo DescribeCard(const cudaDeviceProp& properties, int ordinal, bool reaches_a_peer);

}  // namespace acceld::cuda
