// Memory of the host for device allocations and workspaces.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acceld {

// Memory that reads as zero; null where there is none. `bytes` is at least 1.
std::byte* AllocateZeroed(std::uint64_t bytes);

// Gives back what AllocateZeroed returned, of the same size.
void FreeZeroed(std::byte* data, std::uint64_t bytes);

}  // namespace acceld
