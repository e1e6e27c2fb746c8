// The host memory that a backend has handed out with AllocHost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/core/mutex.h"

namespace acceld {

// Thread-safe.
class HostMemory {
 public:
  // Where memory of so many bytes comes from; it goes back with its last owner.
  using Allocate = std::function<absl::StatusOr<std::shared_ptr<std::byte>>(std::uint64_t bytes)>;

  explicit HostMemory(Allocate allocate) : allocate_(std::move(allocate)) {}

  // 0 bytes is an invalid argument.
  absl::StatusOr<absl::Span<std::byte>> Alloc(std::uint64_t bytes);

  // `data` is the start of an allocation. Its memory returns when nobody holds what Find gave out.
  absl::Status Free(std::byte* data);

  // Keeps the allocation in which `bytes` lies; null where it lies in none.
  std::shared_ptr<const void> Find(absl::Span<const std::byte> bytes) const;

 private:
  struct Block {
    std::shared_ptr<std::byte> data;
    std::uint64_t size_bytes;
  };

  const Allocate allocate_;
  mutable Mutex mutex_;
  // By first byte.
  absl::btree_map<const std::byte*, Block> blocks_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld
