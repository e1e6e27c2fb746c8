// A card, by CUDA's runtime, cuBLAS and cuDNN.
#pragma once

#include <memory>

#include "backends/core/device_info.h"
#include "backends/cuda/driver.h"

namespace acceld::cuda {

// The driver of the card that `info` describes (cards.h). Several may drive one card: they share
// its primary context, and each has a pool of its own.
std::unique_ptr<Driver> MakeCudaDriver(const DeviceInfo& info);

}  // namespace acceld::cuda
