// What the cuda device needs of CUDA and its libraries for one card, and nothing more: the calls of
// CUDA's runtime, of CUB, cuBLAS and cuDNN behind one interface, so that all that decides anything
// is built and tested without a GPU (tests/testing/cuda/fake_cuda_driver.h).
//
// Work is asynchronous and in the order of its stream. Whoever calls has checked everything: sizes
// are not 0, pointers are device memory unless they are said to be the host's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "backends/core/device_info.h"
#include "backends/core/unique_fd.h"
#include "backends/core/values.h"
#include "backends/ops/conv2d_shape.h"

namespace acceld::cuda {

// What a call came to, as far as anybody acts on it.
enum class DriverCode : std::uint8_t {
  kOk,
  // An event or stream is not done yet.
  kNotReady,
  kOutOfMemory,
  // A library that the call needs is not there, or is too old.
  kMissing,
  // The library does not have it for these parameters.
  kUnsupported,
  // The card's context is gone, and so is all that was in it; every later call fails too.
  kDeviceLost,
  kFailed,
};

struct [[nodiscard]] DriverStatus {
  DriverCode code = DriverCode::kOk;
  // CUDA's name of the function, such as "cudaMallocAsync".
  const char* call = "";
  // CUDA's words, such as "cudaErrorIllegalAddress (an illegal memory access was encountered)"; for
  // kMissing, a full sentence that says what is missing. Empty where all is well.
  std::string detail{};

  bool ok() const { return code == DriverCode::kOk; }
};

template <typename T>
struct [[nodiscard]] DriverResult {
  DriverStatus status{};
  // Meaningless unless `status` is OK.
  T value{};

  bool ok() const { return status.ok(); }
};

struct CardMemory {
  std::uint64_t total_bytes = 0;
  // What nobody holds, our pool and other processes included.
  std::uint64_t free_bytes = 0;
  // What our pool holds, whether it is used or not.
  std::uint64_t pool_bytes = 0;
};

// The driver's own objects; 0 is none.
enum class StreamHandle : std::uintptr_t {};
enum class EventHandle : std::uintptr_t {};
enum class ConvolutionHandle : std::uintptr_t {};
enum class GraphHandle : std::uintptr_t {};
// Device memory as such, which has an address only where it is mapped.
enum class MemoryHandle : std::uint64_t {};

// A kernel of ours with its parameters, as data (kernels/kernel.h).
struct Kernel;
// Rows that are folded each into one value (kernels/reduce_rows.h).
struct ReductionCall;

// The element types of a product: C has kF64 where A and B have, else kF32. Sums are in C's type.
enum class GemmType : std::uint8_t { kF32, kF64, kF16, kBf16 };

// For i in [0, batch): C_i = alpha op(A_i) op(B_i) + beta C_i, column-major as in ops::Gemm, with
// X_i at x + i * stride_x elements. With beta 0, C is not read.
struct GemmCall {
  GemmType type = GemmType::kF32;
  bool transpose_a = false;
  bool transpose_b = false;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double alpha = 1;
  const void* a = nullptr;
  std::int64_t lda = 0;
  std::int64_t stride_a = 0;
  const void* b = nullptr;
  std::int64_t ldb = 0;
  std::int64_t stride_b = 0;
  double beta = 0;
  void* c = nullptr;
  std::int64_t ldc = 0;
  std::int64_t stride_c = 0;
  std::int64_t batch = 1;
  // Of GemmWorkspaceBytes() bytes, aligned to 256.
  void* workspace = nullptr;
};

enum class ConvolutionKind : std::uint8_t { kForward, kBackwardData, kBackwardFilter };

// What a plan depends on: f32, NCHW, dense.
struct ConvolutionKey {
  ConvolutionKind kind = ConvolutionKind::kForward;
  Conv2dShape shape{};

  friend bool operator==(const ConvolutionKey&, const ConvolutionKey&) = default;

  template <typename H>
  friend H AbslHashValue(H state, const ConvolutionKey& key) {
    const Conv2dShape& shape = key.shape;
    return H::combine(std::move(state), key.kind, shape.input, shape.filter, shape.output,
                      shape.stride, shape.padding);
  }
};

// The algorithm that a library chose for a convolution, deterministic. Bound to no stream.
struct ConvolutionPlan {
  ConvolutionHandle handle{};
  // What a run of it needs.
  std::uint64_t workspace_bytes = 0;
};

// Nobody promises that a library takes an array that begins at any element, and a fault of
// alignment ends the card's context.
inline constexpr std::uint64_t kConvolutionAlignment = 16;

// The three arrays of a convolution, so aligned; the one that `kind` computes is written, the
// others are read.
struct ConvolutionCall {
  void* input = nullptr;
  void* filter = nullptr;
  void* output = nullptr;
  // Of the plan's workspace_bytes bytes; null where that is 0.
  void* workspace = nullptr;
};

// Thread-safe, except that one stream, and one graph, is used by one thread at a time. Destroyed
// last: all that it made is given back before.
class Driver {
 public:
  virtual ~Driver() = default;

  // Makes the card's primary context and its memory pool. Comes first; every other call but info()
  // needs it.
  virtual DriverStatus Init() = 0;

  // Known without Init, but for free_memory_bytes; see Memory().
  virtual const DeviceInfo& info() const = 0;

  // ---- Memory ----

  virtual DriverResult<CardMemory> Memory() = 0;

  // Memory of the pool, aligned to 256 bytes, with undefined contents. Usable by what is later in
  // `stream`, and by other streams once that is ordered behind it.
  virtual DriverResult<std::byte*> Allocate(StreamHandle stream, std::uint64_t bytes) = 0;
  // Gives memory back to the pool once what is earlier in `stream` is done. All other use is over.
  virtual DriverStatus Free(StreamHandle stream, std::byte* data) = 0;
  // Gives what the pool keeps unused back to the card, without what the host has not seen freed.
  virtual DriverStatus TrimPool() = 0;

  // Host memory that is pinned: the card copies from and to it by itself.
  virtual DriverResult<std::byte*> AllocateHost(std::uint64_t bytes) = 0;
  virtual DriverStatus FreeHost(std::byte* data) = 0;
  // Pins memory that the host has, until UnregisterHost. Whole pages.
  virtual DriverStatus RegisterHost(std::byte* data, std::uint64_t bytes) = 0;
  virtual DriverStatus UnregisterHost(std::byte* data) = 0;

  // ---- Memory that other processes can map: CUDA's virtual memory management ----

  // Sizes and addresses of such memory are multiples of this. 0 where the card has none.
  virtual std::uint64_t ShareableGranularity() const = 0;

  // Memory with undefined contents; it is the card's again when nothing holds it any more: the
  // handle, a mapping, or a descriptor of it, in whatever process.
  virtual DriverResult<MemoryHandle> CreateMemory(std::uint64_t bytes) = 0;
  // A new descriptor of it.
  virtual DriverResult<UniqueFd> ExportMemory(MemoryHandle memory) = 0;
  // The memory that a descriptor is of, which stays the caller's and may be of anything; kFailed
  // where it is not of this card's memory.
  virtual DriverResult<MemoryHandle> ImportMemory(int descriptor) = 0;
  // Mappings stay.
  virtual DriverStatus ReleaseMemory(MemoryHandle memory) = 0;

  // Addresses with nothing there.
  virtual DriverResult<std::byte*> ReserveAddresses(std::uint64_t bytes) = 0;
  // Takes all of one reservation, with nothing mapped.
  virtual DriverStatus FreeAddresses(std::byte* address, std::uint64_t bytes) = 0;

  // Puts the first `bytes` bytes of `memory` at all of one reservation, not accessible yet. kFailed
  // where it has fewer.
  virtual DriverStatus MapMemory(std::byte* address, std::uint64_t bytes, MemoryHandle memory) = 0;
  // Lets the card read and write all of one mapping.
  virtual DriverStatus SetAccess(std::byte* address, std::uint64_t bytes) = 0;
  // Ends all of one mapping. The host has seen done what used it.
  virtual DriverStatus UnmapMemory(std::byte* address, std::uint64_t bytes) = 0;

  // ---- Streams and events ----

  // A higher `priority` goes first, as far as the card distinguishes; 0 is normal.
  virtual DriverResult<StreamHandle> CreateStream(int priority) = 0;
  // Its work is done.
  virtual DriverStatus DestroyStream(StreamHandle stream) = 0;
  // Waits for the stream's work. An error of that shows here.
  virtual DriverStatus Synchronize(StreamHandle stream) = 0;
  // Waits for all work there is on the card.
  virtual DriverStatus SynchronizeAll() = 0;

  virtual DriverResult<EventHandle> CreateEvent() = 0;
  virtual DriverStatus DestroyEvent(EventHandle event) = 0;
  virtual DriverStatus Record(EventHandle event, StreamHandle stream) = 0;
  // kNotReady until what was in the stream before its latest record is done. An error of that work
  // shows here.
  virtual DriverStatus Query(EventHandle event) = 0;
  // What is later in `stream` waits for the latest record of `event`.
  virtual DriverStatus Wait(StreamHandle stream, EventHandle event) = 0;
  // Of two events that are done.
  virtual DriverResult<std::chrono::nanoseconds> Elapsed(EventHandle start, EventHandle stop) = 0;

  // ---- Work ----

  // Out of memory is what a call comes to that has submitted nothing; it may be made again. It may
  // come of what is first used, such as a library or a kernel, whose code takes memory of the card.

  // `source` is pinned host memory.
  virtual DriverStatus CopyToDevice(StreamHandle stream, std::byte* target, const std::byte* source,
                                    std::uint64_t bytes) = 0;
  // `target` is pinned host memory.
  virtual DriverStatus CopyToHost(StreamHandle stream, std::byte* target, const std::byte* source,
                                  std::uint64_t bytes) = 0;
  virtual DriverStatus CopyOnDevice(StreamHandle stream, std::byte* target, const std::byte* source,
                                    std::uint64_t bytes) = 0;
  virtual DriverStatus Memset(StreamHandle stream, std::byte* target, std::uint8_t value,
                              std::uint64_t bytes) = 0;

  virtual DriverStatus Launch(StreamHandle stream, const Kernel& kernel) = 0;

  // By CUB, which is compiled into the driver.
  virtual DriverStatus Reduce(StreamHandle stream, const ReductionCall& call) = 0;

  // ---- Libraries; kMissing where they are not installed ----

  // The workspace of every Gemm: one size, so that results do not depend on what is free.
  virtual std::uint64_t GemmWorkspaceBytes() const = 0;
  virtual DriverStatus Gemm(StreamHandle stream, const GemmCall& call) = 0;

  // Takes long; plans are kept (plan_cache.h).
  virtual DriverResult<ConvolutionPlan> PlanConvolution(const ConvolutionKey& key) = 0;
  // No run of it is pending.
  virtual DriverStatus DestroyConvolution(ConvolutionHandle plan) = 0;
  virtual DriverStatus RunConvolution(StreamHandle stream, ConvolutionHandle plan,
                                      const ConvolutionCall& call) = 0;

  // ---- Graphs ----

  // From now on what is submitted to `stream` (kernels, copies, libraries) is recorded and does not
  // run. Nothing else is done with it meanwhile; other streams, also on other threads, go on.
  virtual DriverStatus BeginCapture(StreamHandle stream) = 0;
  // A graph of what was recorded, ready to launch. The recording has ended, also where this fails.
  virtual DriverResult<GraphHandle> EndCapture(StreamHandle stream) = 0;
  // With the priority of `stream`, behind what is in it and behind all earlier launches of `graph`.
  virtual DriverStatus LaunchGraph(StreamHandle stream, GraphHandle graph) = 0;
  // No launch of it is pending.
  virtual DriverStatus DestroyGraph(GraphHandle graph) = 0;
};

}  // namespace acceld::cuda
