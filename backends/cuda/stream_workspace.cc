#include "backends/cuda/stream_workspace.h"

#include "backends/core/status.h"
#include "backends/memory/alignment.h"

namespace acceld::cuda {

absl::Status StreamWorkspace::Add(std::uint64_t bytes, std::uint64_t& op_bytes) {
  // In two steps, so that adding cannot overflow.
  ACCELD_RETURN_IF_ERROR(budget_.CheckWorkspace(bytes));
  const std::uint64_t all_bytes = op_bytes + RoundUpToAlignment(bytes);
  ACCELD_RETURN_IF_ERROR(budget_.CheckWorkspace(all_bytes));
  MutexLock lock(mutex_);
  if (op_bytes > 0) of_ops_.erase(of_ops_.find(op_bytes));
  of_ops_.insert(all_bytes);
  op_bytes = all_bytes;
  Count();
  return absl::OkStatus();
}

void StreamWorkspace::End(std::uint64_t op_bytes) {
  if (op_bytes == 0) return;
  MutexLock lock(mutex_);
  of_ops_.erase(of_ops_.find(op_bytes));
  Count();
}

void StreamWorkspace::Count() {
  const std::uint64_t most = of_ops_.empty() ? 0 : *of_ops_.rbegin();
  if (most > counted_bytes_) {
    budget_.AddWorkspace(most - counted_bytes_);
  } else {
    budget_.RemoveWorkspace(counted_bytes_ - most);
  }
  counted_bytes_ = most;
}

}  // namespace acceld::cuda
