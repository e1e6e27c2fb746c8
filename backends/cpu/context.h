// What the CPU's kernels need besides the op: how many threads, and workspace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/core/status.h"
#include "backends/memory/memory_budget.h"

namespace acceld {

// Workspace that a device keeps: enough for most ops, so that they neither touch fresh pages nor
// fail where the client has filled the device. Not counted in the budget.
inline constexpr std::uint64_t kKeptWorkspaceBytes = 16 * 1024 * 1024;

// Lives while one op runs, on that op's thread.
class CpuContext {
 public:
  // `kept` is kKeptWorkspaceBytes of memory that no other op uses meanwhile, or null. `budget`
  // outlives the context.
  CpuContext(int threads, std::byte* kept, MemoryBudget& budget)
      : threads_(threads), kept_(kept), budget_(budget) {}
  ~CpuContext();
  CpuContext(const CpuContext&) = delete;
  CpuContext& operator=(const CpuContext&) = delete;

  // The threads this op is split over; depends on the op and the configuration only.
  int threads() const { return threads_; }

  // Memory that is the kernel's until the op ends, aligned to 256 bytes; its contents are
  // undefined. What the kept workspace cannot hold counts against the device's budget, and is out
  // of memory beyond it.
  absl::StatusOr<std::byte*> Workspace(std::uint64_t bytes);

  // Likewise for `count` elements.
  template <typename T>
  absl::StatusOr<T*> Elements(std::int64_t count) {
    ACCELD_ASSIGN_OR_RETURN(std::byte* const data,
                            Workspace(static_cast<std::uint64_t>(count) * sizeof(T)));
    return reinterpret_cast<T*>(data);
  }

  // How much the kept workspace still holds; depends on the op only, too.
  std::uint64_t kept_bytes_left() const { return kKeptWorkspaceBytes - kept_used_bytes_; }

 private:
  const int threads_;
  std::byte* const kept_;
  MemoryBudget& budget_;
  std::uint64_t kept_used_bytes_ = 0;
  std::vector<std::pair<std::byte*, std::uint64_t>> allocated_;
};

}  // namespace acceld
