// What the cuda device's kernels need besides the op: the driver and a stream, workspace, and the
// plans of convolutions.
//
// A kernel submits its work to the stream and returns. It takes all the workspace it needs before
// it writes anything that it reads, so that it can be submitted once more from its beginning. The
// op, and so its vectors, stays until the work is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cuda/driver.h"

namespace acceld::cuda {

class PinnedPool;
class PlanCache;
class StreamWorkspace;

// What an op that was submitted uses until its work is done, besides device memory.
struct OpResources {
  // Of the pinned pool.
  std::vector<std::byte*> pinned{};
  std::vector<std::shared_ptr<const void>> kept{};
  // What the budget counts for it, which is to be told when it is done.
  std::uint64_t workspace_bytes = 0;
};

// What a context that must not wait returns where it would have to: the op is to be submitted once
// more, by a thread that may.
inline absl::Status HasToWait() { return absl::UnavailableError("The op has to wait."); }
inline bool HasToWait(const absl::Status& status) { return absl::IsUnavailable(status); }

// Lives while one op is submitted, on that thread.
class CudaContext {
 public:
  // Whether it waits for memory, or makes a plan, which takes long.
  enum class Wait : bool { kNo, kYes };

  // All outlive the context. What the work uses until it is done goes to `resources`. Without a
  // stream, an op only takes what it needs, and submits nothing. `counted` is null where Workspace
  // is overridden.
  CudaContext(Driver& driver, StreamHandle stream, PlanCache& plans, PinnedPool& pinned,
              StreamWorkspace* counted, OpResources& resources, Wait wait = Wait::kYes)
      : driver_(driver),
        stream_(stream),
        plans_(plans),
        pinned_(pinned),
        counted_(counted),
        resources_(resources),
        may_wait_(wait == Wait::kYes) {}
  // Gives the workspace back, in the stream's order.
  virtual ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  Driver& driver() const { return driver_; }
  StreamHandle stream() const { return stream_; }

  // Device memory that is the op's until its work is done, aligned to 256 bytes; its contents are
  // undefined. Out of memory where the device or its budget has no more.
  virtual absl::StatusOr<std::byte*> Workspace(std::uint64_t bytes);

  // Workspace that holds a copy of `source`, which is not used after the call. Not empty.
  virtual absl::StatusOr<const std::byte*> Upload(absl::Span<const std::byte> source);

  absl::Status Launch(const Kernel& kernel);
  absl::Status Memset(std::byte* target, std::uint8_t value, std::uint64_t bytes);
  absl::Status CopyOnDevice(std::byte* target, const std::byte* source, std::uint64_t bytes);
  // Calls of libraries, whose workspace those of one op use in turn.
  absl::Status Reduce(ReductionCall call);
  absl::Status Gemm(GemmCall call);
  // By a plan that is kept for the next time. Arrays of any alignment.
  absl::Status Convolution(const ConvolutionKey& key, ConvolutionCall call);

 protected:
  // What comes next is another op's.
  void ForgetLibraryWorkspace() { library_workspace_ = {}; }

 private:
  // Workspace where that need not be waited for.
  absl::StatusOr<std::byte*> QuickWorkspace(std::uint64_t bytes);
  absl::StatusOr<std::byte*> LibraryWorkspace(std::uint64_t bytes);
  absl::StatusOr<std::shared_ptr<const ConvolutionPlan>> Plan(const ConvolutionKey& key);
  // What a call of the driver comes to: out of memory only where giving up what is kept does not
  // help.
  DriverStatus WithMemory(absl::FunctionRef<DriverStatus()> call);
  // The same where there is a stream.
  absl::Status Submitted(absl::FunctionRef<DriverStatus()> submit);

  Driver& driver_;
  const StreamHandle stream_;
  PlanCache& plans_;
  PinnedPool& pinned_;
  StreamWorkspace* const counted_;
  OpResources& resources_;
  const bool may_wait_;
  bool has_submitted_ = false;
  std::vector<std::byte*> allocated_;
  absl::Span<std::byte> library_workspace_;
};

}  // namespace acceld::cuda
