// Runs kernels on the host, over their whole grid: the same code as on the GPU, slowly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <variant>
#include <vector>

#include "backends/cuda/kernels/grid.h"
#include "backends/cuda/kernels/kernel.h"

namespace acceld::cuda {

// In which order threads and blocks run. A kernel that has no race gives the same bits in both.
enum class HostOrder : std::uint8_t { kForward, kBackward };

template <typename Registers>
class HostBlock {
 public:
  HostBlock(std::int64_t index, HostOrder order, std::vector<Registers>& registers,
            std::byte* shared)
      : index_(index), order_(order), registers_(registers), shared_(shared) {}

  std::int64_t index() const { return index_; }

  template <typename T>
  T* shared() {
    return reinterpret_cast<T*>(shared_);
  }

  template <typename Body>
  void Phase(Body&& body) {
    const int threads = static_cast<int>(registers_.size());
    for (int i = 0; i < threads; ++i) {
      const int thread = order_ == HostOrder::kForward ? i : threads - 1 - i;
      body(thread, registers_[static_cast<std::size_t>(thread)]);
    }
  }

 private:
  const std::int64_t index_;
  const HostOrder order_;
  std::vector<Registers>& registers_;
  std::byte* const shared_;
};

// Memory of the device is the host's here. Shared memory begins as NaNs, as nothing may rely on its
// contents.
template <typename K>
void RunKernelOnHost(const K& kernel, HostOrder order = HostOrder::kForward) {
  struct alignas(16) SharedUnit {
    std::byte bytes[16];
  };
  const Grid grid = kernel.grid();
  std::vector<typename K::Registers> registers(K::kThreads);
  std::vector<SharedUnit> shared(static_cast<std::size_t>(grid.shared_bytes) / 16 + 1);
  for (std::int64_t i = 0; i < grid.blocks; ++i) {
    std::memset(shared.data(), 0xff, shared.size() * sizeof(SharedUnit));
    HostBlock<typename K::Registers> block(order == HostOrder::kForward ? i : grid.blocks - 1 - i,
                                           order, registers, shared.data()->bytes);
    kernel(block);
  }
}

inline void RunOnHost(const Kernel& kernel, HostOrder order = HostOrder::kForward) {
  std::visit([order](const auto& typed) { RunKernelOnHost(typed, order); }, kernel);
}

}  // namespace acceld::cuda
