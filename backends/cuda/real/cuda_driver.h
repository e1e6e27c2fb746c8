// A card, by CUDA's runtime, cuBLAS and cuDNN.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/core/device_info.h"
#include "backends/cuda/driver.h"

namespace acceld::cuda {

// The driver of the card that `info` describes (cards.h). Several may drive one card: they share
// its primary context, and each has a pool of its own, of which at most `memory_limit_bytes` will
// be used; 0, or more than the card has: all of it.
std::unique_ptr<Driver> MakeCudaDriver(const DeviceInfo& info,
                                       std::uint64_t memory_limit_bytes = 0);

// What such a pool keeps unused at most; what is beyond goes back to the card when its streams are
// idle.
std::uint64_t KeptBytes(const DeviceInfo& info, std::uint64_t memory_limit_bytes);

}  // namespace acceld::cuda
