// One CUDA card as a device, over a driver. All work is asynchronous: a queue is a stream, which
// takes work ahead, and one thread completes the work of all of them.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/core/device_info.h"
#include "backends/cuda/driver.h"
#include "backends/device.h"

namespace acceld::cuda {

struct CudaOptions {
  // What clients' allocations, programs' graphs and the workspace of ops may take together, in
  // bytes. 0, or more than the card has: all of it.
  std::uint64_t memory_limit_bytes = 0;
};

// A card as a device with these options shows it.
DeviceInfo Limited(DeviceInfo card, const CudaOptions& options);

// The device; its destructor finishes all work that was submitted, and then `driver`'s comes.
//
// Once the card's context is gone (an access out of bounds, an uncorrectable memory error), all
// work, and every call that needs the card, is a device error with the reason DEVICE_LOST that
// names what ran.
//
// Whatever thread calls it has the card as its current one (cudaSetDevice) from then on: a program
// that calls CUDA itself on several cards sets its own again.
//
// Workspace counts from when its op is submitted until that is done. Where the workspace of ops of
// several queues takes more of the card than the limit leaves beside the allocations, the later
// ones wait for the card; out of memory is only what does not fit beside the allocations. What has
// to wait, and what takes long (to plan a convolution, to make the graph of a program), is
// submitted by a thread of the device, so that who submits does not wait, and other queues only
// where they have to as well.
std::unique_ptr<Device> MakeCudaDevice(std::unique_ptr<Driver> driver,
                                       const CudaOptions& options = {});

}  // namespace acceld::cuda
