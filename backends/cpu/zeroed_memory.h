// Memory of the host for device allocations and workspaces.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acceld {

// Every allocation starts at a multiple of this, and takes a multiple of it.
inline constexpr std::uint64_t kMemoryAlignment = 256;

// `bytes` rounded up to what an allocation takes. `bytes` is at most 2^62.
constexpr std::uint64_t RoundUpToAlignment(std::uint64_t bytes) {
  return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

// Memory that reads as zero; null where there is none. `bytes` is at least 1.
std::byte* AllocateZeroed(std::uint64_t bytes);

// Gives back what AllocateZeroed returned, of the same size.
void FreeZeroed(std::byte* data, std::uint64_t bytes);

}  // namespace acceld
