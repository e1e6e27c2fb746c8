#include "client/host_pages.h"

#include <sys/mman.h>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {

absl::StatusOr<std::shared_ptr<std::byte>> AllocateHostPages(std::uint64_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return OutOfMemory(fmt::format("The host has no {} bytes of memory.", bytes));
  }
  return std::shared_ptr<std::byte>(static_cast<std::byte*>(data),
                                    [bytes](std::byte* owned) { munmap(owned, bytes); });
}

}  // namespace acceld
