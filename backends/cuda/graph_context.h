// What the ops of a graph get: they are run twice, to measure what they need and to be captured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cuda/context.h"

namespace acceld::cuda {

// The device memory of a graph: first what its ops upload, which stays, then workspace, which all
// ops use in turn.
struct GraphNeeds {
  std::vector<std::byte> uploads{};
  std::uint64_t workspace_bytes = 0;

  std::uint64_t bytes() const { return uploads.size() + workspace_bytes; }
};

// For all ops of a graph, on one thread. An error where ops need other than was measured.
class GraphContext final : public CudaContext {
 public:
  // Without a stream and `memory` it measures: `needs` is set, and was empty. With them, ops are
  // submitted that use `memory` as measured. `needs` outlives it, as do the others.
  GraphContext(Driver& driver, StreamHandle stream, PlanCache& plans, PinnedPool& pinned,
               OpResources& resources, std::byte* memory, GraphNeeds& needs)
      : CudaContext(driver, stream, plans, pinned, /*counted=*/nullptr, resources),
        measures_(stream == StreamHandle{}),
        memory_(memory),
        needs_(needs) {}

  // Comes between two ops.
  void NextOp() {
    workspace_bytes_ = 0;
    ForgetLibraryWorkspace();
  }

  absl::StatusOr<std::byte*> Workspace(std::uint64_t bytes) override;
  absl::StatusOr<const std::byte*> Upload(absl::Span<const std::byte> source) override;

 private:
  const bool measures_;
  std::byte* const memory_;
  GraphNeeds& needs_;
  // Of this op.
  std::uint64_t workspace_bytes_ = 0;
  // Of all ops so far.
  std::uint64_t uploaded_bytes_ = 0;
};

}  // namespace acceld::cuda
