// What a kernel is made of: blocks of threads, which share memory.
//
// A kernel is a struct of its parameters with
//   Registers        what a thread keeps from one phase to the next;
//   grid()           how many blocks of how many threads, with how much shared memory;
//   operator()(B& block) const
//                    what a block does: code that is the same for all its threads, and calls
//                    block.Phase(body) for what each thread does, body(thread, registers), until
//                    all of the block have done it. Within a phase no thread reads what another
//                    writes.
// block.index() is the block's, in [0, grid().blocks), and block.template shared<T>() its shared
// memory, aligned to 16 bytes. Blocks run in any order.
//
// So one text runs on the GPU (real/launch.cu), where a phase ends at a barrier, and on the host
// (run_on_host.h), which goes through a phase thread by thread.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/host_device.h"

namespace acceld::cuda {

struct Grid {
  std::int64_t blocks = 0;
  // Of each block; at most kMaxThreads.
  int threads = 0;
  // Of each block.
  int shared_bytes = 0;
};

inline constexpr int kMaxThreads = 256;

// For kernels whose threads keep nothing.
struct NoRegisters {};

ACCELD_HOST_DEVICE constexpr std::int64_t CeilDivide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

template <typename T>
ACCELD_HOST_DEVICE constexpr T Smaller(T a, T b) {
  return a < b ? a : b;
}

template <typename T>
ACCELD_HOST_DEVICE constexpr T Larger(T a, T b) {
  return a > b ? a : b;
}

}  // namespace acceld::cuda
