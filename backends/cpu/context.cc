#include "backends/cpu/context.h"

#include <fmt/format.h>

#include "backends/core/status.h"
#include "backends/cpu/zeroed_memory.h"
#include "backends/memory/alignment.h"

namespace acceld {

CpuContext::~CpuContext() {
  for (const auto& [data, bytes] : allocated_) {
    FreeZeroed(data, bytes);
    budget_.Release(bytes);
  }
}

absl::StatusOr<std::byte*> CpuContext::Workspace(std::uint64_t bytes) {
  if (bytes == 0) bytes = 1;
  if (kept_ != nullptr && bytes <= kept_bytes_left()) {
    std::byte* data = kept_ + kept_used_bytes_;
    kept_used_bytes_ += RoundUpToAlignment(bytes);
    return data;
  }
  allocated_.reserve(allocated_.size() + 1);  // Throws, if at all, while there is nothing to free.
  ACCELD_RETURN_IF_ERROR(budget_.Reserve(bytes));
  std::byte* data = AllocateZeroed(bytes);
  if (data == nullptr) {
    budget_.Release(bytes);
    return OutOfMemory(fmt::format("The host has no {} bytes for the op's workspace.", bytes));
  }
  allocated_.emplace_back(data, bytes);
  return data;
}

}  // namespace acceld
