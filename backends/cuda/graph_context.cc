#include "backends/cuda/graph_context.h"

#include <algorithm>
#include <cstring>

#include "backends/core/status.h"
#include "backends/memory/alignment.h"
#include "fmt/format.h"

namespace acceld::cuda {
namespace {

// What is measured is not there yet.
std::byte* Nowhere() { return reinterpret_cast<std::byte*>(std::uintptr_t{kMemoryAlignment}); }

absl::Status NotAsMeasured(std::uint64_t bytes, std::uint64_t measured) {
  return DeviceError(fmt::format(
      "The ops of a graph take {} bytes of device memory, and {} were measured.", bytes, measured));
}

}  // namespace

absl::StatusOr<std::byte*> GraphContext::Workspace(std::uint64_t bytes) {
  const std::uint64_t offset = workspace_bytes_;
  workspace_bytes_ += RoundUpToAlignment(bytes);
  if (measures_) {
    needs_.workspace_bytes = std::max(needs_.workspace_bytes, workspace_bytes_);
    return Nowhere();
  }
  if (workspace_bytes_ > needs_.workspace_bytes) {
    return NotAsMeasured(workspace_bytes_, needs_.workspace_bytes);
  }
  return memory_ + needs_.uploads.size() + offset;
}

absl::StatusOr<const std::byte*> GraphContext::Upload(absl::Span<const std::byte> source) {
  const std::uint64_t offset = uploaded_bytes_;
  uploaded_bytes_ += RoundUpToAlignment(source.size());
  if (measures_) {
    needs_.uploads.resize(uploaded_bytes_);
    std::memcpy(needs_.uploads.data() + offset, source.data(), source.size());
    return Nowhere();
  }
  if (uploaded_bytes_ > needs_.uploads.size()) {
    return NotAsMeasured(uploaded_bytes_, needs_.uploads.size());
  }
  return memory_ + offset;
}

}  // namespace acceld::cuda
