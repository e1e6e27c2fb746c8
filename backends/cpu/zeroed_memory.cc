#include "backends/cpu/zeroed_memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace acceld {
namespace {

// From here on memory is mapped: its pages are zero without being written, and go back to the
// system at once.
constexpr std::uint64_t kMappedFromBytes = 256 * 1024;

// Fewer page faults and address translations where the system leaves huge pages to the program.
constexpr std::uint64_t kHugePageBytes = 2 * 1024 * 1024;

}  // namespace

std::byte* AllocateZeroed(std::uint64_t bytes) {
  if (bytes < kMappedFromBytes) {
    const std::uint64_t rounded = RoundUpToAlignment(bytes);
    void* data = std::aligned_alloc(kMemoryAlignment, rounded);
    if (data != nullptr) std::memset(data, 0, rounded);
    return static_cast<std::byte*>(data);
  }
  void* data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, /*offset=*/0);
  if (data == MAP_FAILED) return nullptr;
  if (bytes >= kHugePageBytes) madvise(data, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(data);
}

void FreeZeroed(std::byte* data, std::uint64_t bytes) {
  if (bytes < kMappedFromBytes) {
    std::free(data);
  } else {
    munmap(data, bytes);
  }
}

}  // namespace acceld
