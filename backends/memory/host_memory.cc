#include "backends/memory/host_memory.h"

#include "backends/core/status.h"

namespace acceld {

absl::StatusOr<absl::Span<std::byte>> HostMemory::Alloc(std::uint64_t bytes) {
  if (bytes == 0)
    return InvalidArgument("AllocHost of 0 bytes: an allocation has at least 1 byte.");
  ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> owner, allocate_(bytes));
  std::byte* const data = owner.get();
  MutexLock lock(mutex_);
  blocks_.emplace(data, Block{std::move(owner), bytes});
  return absl::MakeSpan(data, bytes);
}

absl::Status HostMemory::Free(std::byte* data) {
  std::shared_ptr<std::byte> freed;  // Outlives the lock: releasing takes time.
  MutexLock lock(mutex_);
  const auto found = blocks_.find(data);
  if (found == blocks_.end()) {
    return InvalidArgument("FreeHost got a pointer that is not the start of memory from AllocHost.",
                           reason::kUnknownAddress);
  }
  freed = std::move(found->second.data);
  blocks_.erase(found);
  return absl::OkStatus();
}

std::shared_ptr<const void> HostMemory::Find(absl::Span<const std::byte> bytes) const {
  MutexLock lock(mutex_);
  auto found = blocks_.upper_bound(bytes.data());
  if (found == blocks_.begin()) return nullptr;
  const auto& [first, block] = *--found;
  const auto offset = static_cast<std::uint64_t>(bytes.data() - first);
  if (offset > block.size_bytes || bytes.size() > block.size_bytes - offset) return nullptr;
  return block.data;
}

}  // namespace acceld
