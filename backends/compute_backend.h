// ComputeBackend: what users of acceld call. The same code runs on a device of its own
// (LocalBackend), through the daemon (RemoteBackend, client/connect.h), or on a test double.
//
// One object is one device. Thread-safe. A call that fails a check returns its error and touches
// nothing. What only execution can show (a device fault) belongs to the stream it ran on: the
// stream's later ops and copies are skipped until SynchronizeStream, or a CopyDtoH that waits,
// returns and clears the error; Synchronize returns the earliest submitted error of all streams and
// clears them all. After a fault in its middle an op's outputs are undefined, and nothing outside
// its operands is touched.
//
// Errors, in the order of precedence: not initialized (kFailedPrecondition), unsupported
// (kUnimplemented), invalid argument (kInvalidArgument), out of memory (kResourceExhausted). A
// remote backend whose daemon is gone returns kUnavailable.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/core/device_info.h"
#include "backends/core/handles.h"
#include "backends/core/unique_fd.h"
#include "backends/ops/op.h"

namespace acceld {

struct AllocOptions {
  // Memory that Map can show to the host. Unsupported on a device whose memory is not the host's,
  // and where a remote backend's transport is not shared memory. Takes whole pages, and a file
  // descriptor in each process; a client may have few.
  bool mappable = false;
  // Memory that another process can open on the same device, with ExportHandle. It is an allocation
  // of its own, never of a pool, and takes a multiple of the device's granularity (2 MiB on
  // NVIDIA's cards). Unsupported on a device that has none, and where a remote backend's transport
  // passes no descriptors, which shared memory and Unix sockets do; permission denied where the
  // daemon's configuration does not have allow_direct_opening.
  bool openable = false;
};

// What opens memory in another process, CUDA's shareable handle. All of it has to be sent there,
// the descriptor by SCM_RIGHTS (unix(7)).
struct ShareableHandle {
  UniqueFd descriptor{};
  // The allocation's.
  std::uint64_t size_bytes = 0;
  // DeviceInfo::uuid of the device whose memory it is.
  std::string device_uuid{};
};

struct StreamOptions {
  // Higher runs first where the device can choose; 0 is normal.
  int priority = 0;
};

class ComputeBackend {
 public:
  virtual ~ComputeBackend() = default;

  // Comes first; every other call but the descriptions at the end is "not initialized" before it.
  // Idempotent.
  virtual absl::Status Init() = 0;

  // ---- Memory ----

  // Reserves `bytes` bytes of device memory that read as zero; waits. The address is a multiple of
  // 256 and is never handed out again. 0 bytes is an invalid argument.
  virtual absl::StatusOr<Address> Alloc(std::uint64_t bytes, const AllocOptions& options = {}) = 0;

  // Frees the allocation that starts at `address`. Unknown, freed and interior addresses are
  // invalid arguments. The address is invalid for every later call at once; the memory returns when
  // the work that names it is done.
  virtual absl::Status Free(Address address) = 0;

  // Copies `source` to device memory. Empty is a no-op. Returns once the source may be reused;
  // where `stream` is named and the source lies in AllocHost memory, at once. Without `stream`, on
  // the default stream.
  virtual absl::Status CopyHtoD(Address target, absl::Span<const std::byte> source,
                                std::optional<Stream> stream = std::nullopt) = 0;

  // Copies device memory to `target`. Empty is a no-op. Waits until the bytes are there, and
  // returns and clears the stream's error; where `stream` is named and the target lies in AllocHost
  // memory, returns at once, and the bytes are there after a synchronization.
  virtual absl::Status CopyDtoH(absl::Span<std::byte> target, Address source,
                                std::optional<Stream> stream = std::nullopt) = 0;

  // Host memory that the device copies from and to without staging. 0 bytes is an invalid argument;
  // out of memory where there is no more, or the daemon that shares it allows no more. Not to be
  // used in a forked child.
  virtual absl::StatusOr<absl::Span<std::byte>> AllocHost(std::uint64_t bytes) = 0;
  // `data` is the start of what AllocHost returned. The memory returns when the copies that use it
  // are done.
  virtual absl::Status FreeHost(std::byte* data) = 0;

  // The host's view of the mappable allocation that starts at `address`: its very bytes, without a
  // copy. Its accesses are not ordered with any stream: synchronize before reading what the device
  // wrote, and write before submitting what is to read it. Mapping again returns the same view. It
  // ends with Unmap, Free or this object; to use it later is undefined, as in a forked child.
  // Unsupported where the allocation is not mappable or the device has no such memory; unknown,
  // freed and interior addresses are invalid arguments.
  virtual absl::StatusOr<absl::Span<std::byte>> Map(Address address) = 0;
  // Ends the view. Errors as Map's; an allocation that is not mapped is an invalid argument.
  virtual absl::Status Unmap(Address address) = 0;

  // A handle of the openable allocation that starts at `address`, a new one each time.
  //
  // Whoever has its descriptor can read and write the memory, at any time, unchecked, and pass it
  // on, and nobody can take that back: so no handle is read-only. Accesses of different processes
  // are not ordered: synchronize before another is to see what was written. Free ends the
  // allocation here; the memory lives on until each descriptor is closed and each process that
  // opened it has freed it, and is given to nobody before.
  //
  // Unsupported where the allocation is not openable (one that ImportHandle returned is not) or the
  // device has no such memory; unknown, freed and interior addresses are invalid arguments.
  virtual absl::StatusOr<ShareableHandle> ExportHandle(Address address) = 0;
  // Opens the memory of `handle`, which stays the caller's and is not used after the call. Its
  // bytes are those of the allocation it was exported from; its address is like one of Alloc, and
  // ends with Free. Invalid argument where the memory is another device's, which the UUID tells,
  // and where the descriptor is not of openable memory of that many bytes. Unsupported where the
  // device has no such memory, and on a remote backend: a daemon takes no descriptor from its
  // clients.
  virtual absl::StatusOr<Address> ImportHandle(const ShareableHandle& handle) = 0;

  // ---- Work ----

  // Submits one op to `stream`.
  virtual absl::Status Run(Op op, Stream stream = kDefaultStream) = 0;

  virtual absl::StatusOr<Stream> CreateStream(const StreamOptions& options = {}) = 0;
  // The stream is invalid for every later call at once; its work still runs. The default stream
  // cannot be destroyed.
  virtual absl::Status DestroyStream(Stream stream) = 0;

  virtual absl::StatusOr<Event> CreateEvent() = 0;
  virtual absl::Status DestroyEvent(Event event) = 0;

  // Marks this point of `stream`. A new record replaces the event's former one.
  virtual absl::Status RecordEvent(Event event, Stream stream = kDefaultStream) = 0;
  // Holds `stream` until the latest record of `event` that was submitted before this call is
  // reached; an event never recorded counts as reached, so no wait can deadlock. A stream that
  // waits for an event recorded behind an error takes that error.
  virtual absl::Status WaitEvent(Stream stream, Event event) = 0;
  // Whether the event's latest record is reached; its error if it was recorded behind one.
  virtual absl::StatusOr<bool> QueryEvent(Event event) = 0;
  // Waits until the event's latest record is reached; its error if it was recorded behind one.
  virtual absl::Status SynchronizeEvent(Event event) = 0;
  // The time from one event's record to another's: each is when the work before it was done, by the
  // device's clock if it has one, but not before it was submitted. Invalid argument where one was
  // never recorded, failed precondition (reason EVENT_PENDING) where one is not reached.
  virtual absl::StatusOr<std::chrono::nanoseconds> ElapsedTime(Event start, Event stop) = 0;

  // Waits for all work of `stream`; returns and clears its error.
  virtual absl::Status SynchronizeStream(Stream stream) = 0;
  // Waits for all work; returns the earliest submitted error and clears all.
  virtual absl::Status Synchronize() = 0;

  // ---- Programs ----
  //
  // A program is a sequence of ops and events, recorded once and then replayed any number of times,
  // each time by one call. A replay does to the bit what its calls would do one by one: its ops run
  // in order, and another stream's or session's work may run between them; its records replace the
  // events' former ones, and its waits hold the stream, as of the replay; behind an error of the
  // stream the rest is skipped.

  // From now on Run, RecordEvent and WaitEvent on `stream` are checked as always and kept for the
  // program, not carried out; a call that fails is not part of it. Until EndRecording, whatever
  // else names the stream (copies from and to the host, SynchronizeStream, Replay, DestroyStream,
  // BeginRecording) is a failed precondition, reason STREAM_RECORDING. Earlier work of the stream,
  // and other streams, go on.
  virtual absl::Status BeginRecording(Stream stream) = 0;
  // Ends the recording and makes a program of it, which belongs to no stream; an empty one does
  // nothing. Failed precondition where `stream` does not record. An op whose memory was freed since
  // is an invalid argument, and there is no program then. The longest program, how many there may
  // be and what they may take have limits, reason LIMIT_EXCEEDED.
  virtual absl::StatusOr<Program> EndRecording(Stream stream) = 0;
  // Submits the program's work to `stream`, which need not be the one that recorded it. Each of
  // `rebindings` replaces an allocation that the program's ops name by another, for this replay.
  // The first replay with certain allocations checks every op as Run does; later ones are cheap.
  // Invalid argument, and nothing is touched, where an op does not fit its replacement, a
  // rebinding names no allocation of the program or the same as another, or memory or an event that
  // is used has been freed or destroyed.
  virtual absl::Status Replay(Program program, absl::Span<const Rebinding> rebindings = {},
                              Stream stream = kDefaultStream) = 0;
  // The program is invalid for every later call at once; its replays still run.
  virtual absl::Status DestroyProgram(Program program) = 0;

  // ---- Descriptions ----

  // The backend's kind, such as "cpu".
  virtual std::string name() const = 0;
  virtual bool initialized() const = 0;
  virtual Capabilities capabilities() const = 0;
  // The devices of this backend; the first is the one in use.
  virtual std::vector<DeviceInfo> devices() const = 0;
  virtual Tile RecommendedTile(std::int64_t m, std::int64_t n, std::int64_t k) const = 0;

  // ---- One helper an op: backend.Gemm({.m = 2, .n = 2, .k = 2, …}) ----

  absl::Status Gemm(ops::Gemm op, Stream stream = kDefaultStream) {
    return Run(std::move(op), stream);
  }
  absl::Status GemmMixedPrecision(ops::GemmMixedPrecision op, Stream stream = kDefaultStream) {
    return Run(std::move(op), stream);
  }
  absl::Status BatchedGemm(ops::BatchedGemm op, Stream stream = kDefaultStream) {
    return Run(std::move(op), stream);
  }
  absl::Status Conv2dForward(ops::Conv2dForward op, Stream stream = kDefaultStream) {
    return Run(std::move(op), stream);
  }
  absl::Status Conv2dBackwardData(ops::Conv2dBackwardData op, Stream stream = kDefaultStream) {
    return Run(std::move(op), stream);
  }
  absl::Status Conv2dBackwardFilter(ops::Conv2dBackwardFilter op, Stream stream = kDefaultStream) {
    return Run(std::move(op), stream);
  }
  absl::Status Attention(ops::Attention op, Stream stream = kDefaultStream) {
    return Run(std::move(op), stream);
  }
  absl::Status Reduce(ops::Reduce op, Stream stream = kDefaultStream) {
    return Run(std::move(op), stream);
  }
  absl::Status Softmax(ops::Softmax op, Stream stream = kDefaultStream) {
    return Run(std::move(op), stream);
  }
  absl::Status Unary(ops::Unary op, Stream stream = kDefaultStream) {
    return Run(std::move(op), stream);
  }
  absl::Status Binary(ops::Binary op, Stream stream = kDefaultStream) {
    return Run(std::move(op), stream);
  }
  absl::Status Gather(ops::Gather op, Stream stream = kDefaultStream) {
    return Run(std::move(op), stream);
  }
  absl::Status Scatter(ops::Scatter op, Stream stream = kDefaultStream) {
    return Run(std::move(op), stream);
  }
  absl::Status Memset(Address target, std::uint8_t value, std::uint64_t bytes,
                      Stream stream = kDefaultStream) {
    return Run(ops::Memset{.target = target, .value = value, .bytes = bytes}, stream);
  }
  absl::Status CopyDtoD(Address target, Address source, std::uint64_t bytes,
                        Stream stream = kDefaultStream) {
    return Run(ops::CopyDtoD{.target = target, .source = source, .bytes = bytes}, stream);
  }
};

}  // namespace acceld
