#include "backends/cpu/cpu_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <utility>

#include "backends/core/status.h"
#include "backends/cpu/zeroed_memory.h"

namespace acceld {
namespace {

// How much of a device's memory may be kept warm.
constexpr std::uint64_t kWarmShare = 4;

// Smaller blocks are zeroed at once: that takes less than looking after them.
constexpr std::uint64_t kLeftUnzeroedFromBytes = 256 * 1024;

// How many of the descriptors that the process may have can be mappable memory's: the rest is for
// those who connect.
constexpr std::uint64_t kDescriptorShare = 4;

std::uint64_t MaxMappable() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / kDescriptorShare : 0;
}

// What mappable memory of `bytes` bytes takes; `bytes` is at most 2^62.
std::uint64_t RoundUpToPage(std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

CpuMemory::CpuMemory(std::uint64_t limit_bytes)
    : pool_(limit_bytes / kWarmShare),
      budget_("The cpu device", limit_bytes,
              [this](std::uint64_t left_bytes) { pool_.Shrink(left_bytes); }) {}

absl::StatusOr<std::byte*> CpuMemory::Allocate(std::uint64_t bytes, const MemoryOptions& options) {
  // In two steps, so that rounding cannot overflow.
  if (bytes > budget_.limit_bytes()) return budget_.Reserve(bytes);
  if (options.mappable) return AllocateMappable(bytes);
  const std::uint64_t block_bytes = BlockPool::BlockBytes(bytes);
  // Before the reservation, which may give back what is warm.
  std::byte* data = pool_.Take(block_bytes);
  if (absl::Status reserved = budget_.Reserve(bytes); !reserved.ok()) {
    if (data != nullptr) pool_.Put(data, block_bytes);
    return reserved;
  }
  if (data != nullptr) {
    if (bytes < kLeftUnzeroedFromBytes) {
      std::memset(data, 0, bytes);
    } else {
      unzeroed_.Add(data, bytes);
    }
    return data;
  }
  data = AllocateZeroed(block_bytes);
  if (data == nullptr) {
    pool_.Shrink(0);
    data = AllocateZeroed(block_bytes);
  }
  if (data == nullptr) {
    budget_.Release(bytes);
    return OutOfMemory(fmt::format("The host has no {} bytes left for the cpu device.", bytes));
  }
  return data;
}

void CpuMemory::Release(std::byte* data, std::uint64_t bytes) {
  if (ReleaseMappable(data, bytes)) return;
  unzeroed_.Remove(data);
  pool_.Put(data, BlockPool::BlockBytes(bytes));
  budget_.Release(bytes);
}

absl::StatusOr<std::byte*> CpuMemory::AllocateMappable(std::uint64_t bytes) {
  const std::uint64_t taken_bytes = RoundUpToPage(bytes);
  ACCELD_RETURN_IF_ERROR(budget_.Reserve(taken_bytes));
  absl::StatusOr<SealedMemory> memory = SealedMemory::Create("acceld-mappable", bytes);
  if (!memory.ok()) {
    budget_.Release(taken_bytes);
    return memory.status();
  }
  std::byte* const data = memory->data();
  const std::uint64_t max_count = MaxMappable();
  {
    MutexLock lock(mutex_);
    if (mappable_.size() < max_count) {
      mappable_.emplace(data, *std::move(memory));
      return data;
    }
  }
  budget_.Release(taken_bytes);
  return OutOfMemory(fmt::format("The cpu device has {} mappable allocations already, the most "
                                 "that the limit on open files leaves for them.",
                                 max_count),
                     reason::kLimitExceeded);
}

bool CpuMemory::ReleaseMappable(const std::byte* data, std::uint64_t bytes) {
  std::optional<SealedMemory> released;  // Outlives the lock: unmapping takes time.
  {
    MutexLock lock(mutex_);
    const auto found = mappable_.find(data);
    if (found == mappable_.end()) return false;
    released = std::move(found->second);
    mappable_.erase(found);
  }
  // A process that it was shown to may keep the file, but not the memory.
  released->Discard();
  released.reset();
  budget_.Release(RoundUpToPage(bytes));
  return true;
}

absl::StatusOr<int> CpuMemory::MappableFile(const std::byte* data) const {
  MutexLock lock(mutex_);
  const auto found = mappable_.find(data);
  if (found == mappable_.end()) return UnsupportedError("The memory is not mappable.");
  return found->second.fd();
}

}  // namespace acceld
