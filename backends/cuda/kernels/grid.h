// What a kernel is made of: blocks of threads, which share memory.
//
// A kernel is a struct of its parameters with
//   Registers        what a thread keeps from one phase to the next;
//   kThreads         how many threads a block has;
//   kBlocksAtOnce    how many blocks a multiprocessor of the GPU is to have room for, which limits
//                    the registers of a thread;
//   grid()           how many blocks there are, with how much shared memory;
//   operands()       an array of KernelOperand: what its blocks, where it has any, use of the
//                    device's memory; for the host;
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
#include "backends/cuda/kernels/operands.h"

namespace acceld::cuda {

struct Grid {
  std::int64_t blocks = 0;
  // Of each block; at most kMaxSharedBytes.
  int shared_bytes = 0;
};

// What a block may have on every GPU.
inline constexpr int kMaxSharedBytes = 48 * 1024;

// For kernels whose threads keep nothing.
struct NoRegisters {};

ACCELD_HOST_DEVICE constexpr std::int64_t CeilDivide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// a / b; neither is negative. Quick where both fit into 32 bits: GPUs divide in software.
ACCELD_HOST_DEVICE std::int64_t Quotient(std::int64_t a, std::int64_t b) {
  if ((a | b) >> 32 == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  return a / b;
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
