#include "tests/unit/backends/cpu/library_memory.h"

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <limits>

namespace acceld {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

std::atomic<std::size_t> refused_from = kNone;
std::atomic<int> refused_count = 0;

}  // namespace

NoLibraryMemory::NoLibraryMemory(std::size_t from_bytes) {
  refused_count = 0;
  refused_from = from_bytes;
}

NoLibraryMemory::~NoLibraryMemory() { refused_from = kNone; }

int NoLibraryMemory::refused() const { return refused_count; }

}  // namespace acceld

// The libraries' calls come here, since the program's own symbols are looked at first.
extern "C" int posix_memalign(void** data, std::size_t alignment, std::size_t bytes) noexcept {
  using Function = int (*)(void**, std::size_t, std::size_t);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "posix_memalign"));
  if (bytes >= acceld::refused_from) {
    ++acceld::refused_count;
    return ENOMEM;
  }
  return next(data, alignment, bytes);
}
