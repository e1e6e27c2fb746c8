// How allocations of device memory are aligned.
#pragma once

#include <cstdint>

namespace acceld {

// Every allocation starts at a multiple of this, and takes a multiple of it.
inline constexpr std::uint64_t kMemoryAlignment = 256;

// `bytes` rounded up to what an allocation takes. `bytes` is at most 2^62.
constexpr std::uint64_t RoundUpToAlignment(std::uint64_t bytes) {
  return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

}  // namespace acceld
