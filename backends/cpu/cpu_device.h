// The CPU as a device. Products are OpenBLAS's, oneDNN's or own loops, convolutions oneDNN's, plain
// products, products of columns (im2col) or own loops, whichever is fastest for the shape; the rest
// is own loops. Its memory is the host's.
//
// One piece of work runs at a time, first come first served over all queues: a queue is only a
// label. Small work (work_size.h) runs in the thread that submits it where the device is idle; all
// else in one worker thread and the OpenMP threads below it.
//
// Memory that was used before is zeroed by the first work that could see it, as part of that work's
// time, and not at all where that overwrites it; a pointer by itself may show what was there.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/device.h"

namespace acceld {

struct CpuOptions {
  // How many threads work on a large op: 1 to kMaxCpuThreads (parallel.h) and OMP_THREAD_LIMIT.
  // 0: every core this process may use (affinity, cgroup quota), within these limits. Results may
  // differ in their last bits for different numbers.
  int threads = 0;
  // What allocations may take together, in bytes. 0: 75 % of the lesser of the machine's memory and
  // the cgroup's limit.
  std::uint64_t memory_limit_bytes = 0;
};

// The device; its Init returns an invalid argument for options out of range. Its destructor
// finishes all work that was submitted.
std::unique_ptr<Device> MakeCpuDevice(const CpuOptions& options = {});

}  // namespace acceld
