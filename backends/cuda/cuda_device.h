// One CUDA card as a device, over a driver. All work is asynchronous: a queue is a stream, which
// takes work ahead, and one thread completes the work of all of them.
#pragma once

#include <memory>

#include "backends/cuda/driver.h"
#include "backends/device.h"

namespace acceld::cuda {

// The device; its destructor finishes all work that was submitted, and then `driver`'s comes.
//
// Once the card's context is gone (an access out of bounds, an uncorrectable memory error), all
// work, and every call that needs the card, is a device error with the reason DEVICE_LOST that
// names what ran.
std::unique_ptr<Device> MakeCudaDevice(std::unique_ptr<Driver> driver);

}  // namespace acceld::cuda
