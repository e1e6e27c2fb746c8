#include "backends/cpu/zeroed_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "backends/memory/alignment.h"

namespace acceld {
namespace {

// From here on memory is mapped: its pages are zero without being written, and go back to the
// system at once.
constexpr std::uint64_t kMappedFromBytes = 256 * 1024;

// Fewer page faults and address translations where the system leaves huge pages to the program. It
// gives them at multiples of their size only.
constexpr std::uint64_t kHugePageBytes = 2 * 1024 * 1024;

// No process has so many addresses; below it sizes can be rounded up.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;

void* Map(std::uint64_t bytes) {
  void* data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, /*offset=*/0);
  return data == MAP_FAILED ? nullptr : data;
}

// Maps memory that starts at a multiple of a huge page, out of a range with room to choose.
void* MapHugePages(std::uint64_t bytes) {
  if (bytes > kMaxBytes) return nullptr;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  bytes = (bytes + page - 1) / page * page;
  auto* const range = static_cast<std::byte*>(Map(bytes + kHugePageBytes));
  if (range == nullptr) return nullptr;
  const std::uint64_t before = -reinterpret_cast<std::uintptr_t>(range) % kHugePageBytes;
  if (before > 0) munmap(range, before);
  std::byte* const data = range + before;
  munmap(data + bytes, kHugePageBytes - before);
  madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

}  // namespace

std::byte* AllocateZeroed(std::uint64_t bytes) {
  if (bytes < kMappedFromBytes) {
    const std::uint64_t rounded = RoundUpToAlignment(bytes);
    void* data = std::aligned_alloc(kMemoryAlignment, rounded);
    if (data != nullptr) std::memset(data, 0, rounded);
    return static_cast<std::byte*>(data);
  }
  return static_cast<std::byte*>(bytes < kHugePageBytes ? Map(bytes) : MapHugePages(bytes));
}

void FreeZeroed(std::byte* data, std::uint64_t bytes) {
  if (bytes < kMappedFromBytes) {
    std::free(data);
  } else {
    munmap(data, bytes);
  }
}

}  // namespace acceld
