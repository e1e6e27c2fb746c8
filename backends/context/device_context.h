// A client's share of a device: its addresses, streams and events, with the checks, the order and
// the errors that ComputeBackend promises. LocalBackend waits on one in process; the daemon has one
// in each session. Nothing here waits: what takes time calls `done` when it is finished.
//
// The life of an op: Run checks it against the address space, pins the memory it names, translates
// its addresses, and appends it to its stream. Pump hands the first item of each stream to the sink
// (the device, or the daemon's scheduler) and, when that calls back, the next.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/compute_backend.h"
#include "backends/context/handle_range.h"
#include "backends/context/stream_state.h"
#include "backends/core/mutex.h"
#include "backends/device.h"
#include "backends/memory/address_space.h"
#include "backends/memory/memory_account.h"

namespace acceld {

// What one context may have at a time.
struct ContextLimits {
  std::size_t streams = 1024;
  std::size_t events = 65536;
  std::size_t allocations = 1 << 20;
};

// Thread-safe. `done` callbacks run without a lock, on any thread, in a call or after it; they must
// not block. They are called exactly once where the call returned OK, and never where it returned
// an error.
class DeviceContext : public std::enable_shared_from_this<DeviceContext> {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // A context on an initialized device. Its work goes to `sink`: `device` itself, or a scheduler in
  // front of it. Both outlive it.
  static absl::StatusOr<std::shared_ptr<DeviceContext>> Create(
      Device& device, std::shared_ptr<WorkSink> sink, const ContextLimits& limits = {},
      std::shared_ptr<MemoryAccount> memory = std::make_shared<MemoryAccount>());
  ~DeviceContext();

  // ---- Memory ----

  // `chosen` is an address a client chose; the context chooses where it is 0. After a failure,
  // naming a chosen address returns the same error, and freeing it succeeds (unless the address was
  // not one that may be chosen, or far too many have failed and none was freed).
  absl::StatusOr<Address> Alloc(std::uint64_t bytes, const AllocOptions& options,
                                Address chosen = 0);
  absl::Status Free(Address address);

  // Bytes that allocations hold, also freed ones whose work is not done.
  std::uint64_t live_bytes() const { return memory_->used_bytes(); }

  // Whether [address, address + bytes) lies in one allocation; `what` names it in the error.
  absl::Status CheckRange(Address address, std::uint64_t bytes, std::string_view what) const;

  // ---- Work ----

  absl::Status Run(Op op, Stream stream, Done&& done = nullptr);
  // `source` may be reused when `done` is called, with the stream's error if the copy was skipped.
  // `host` keeps it alive if need be.
  absl::Status Write(Address target, absl::Span<const std::byte> source, Stream stream,
                     std::shared_ptr<const void> host, Done&& done);
  // `target` is filled when `done` is called with OK. With `takes_error`, an error of the stream is
  // cleared by giving it to `done`.
  absl::Status Read(absl::Span<std::byte> target, Address source, Stream stream, bool takes_error,
                    std::shared_ptr<const void> host, Done&& done);

  // ---- Streams and events; 0 lets the context choose the number ----

  absl::StatusOr<Stream> CreateStream(const StreamOptions& options, Stream chosen = Stream{0});
  absl::Status DestroyStream(Stream stream);
  absl::StatusOr<Event> CreateEvent(Event chosen = Event{0});
  absl::Status DestroyEvent(Event event);
  absl::Status RecordEvent(Event event, Stream stream, Done&& done = nullptr);
  absl::Status WaitEvent(Stream stream, Event event, Done&& done = nullptr);
  absl::StatusOr<bool> QueryEvent(Event event);
  absl::Status SynchronizeEvent(Event event, Done&& done);
  absl::StatusOr<std::chrono::nanoseconds> ElapsedTime(Event start, Event stop);
  absl::Status SynchronizeStream(Stream stream, Done&& done);
  absl::Status Synchronize(Done&& done);

  // ---- Life ----

  // Waits until fewer than `limit` items are unfinished, so that no queue grows without bound. May
  // run callbacks meanwhile; not to be called from one.
  void WaitForRoom(std::size_t limit);

  // Drops all work that has not started, ends what waits with kCancelled, and frees everything
  // (what running work names, when that is done). Every later call fails.
  void Close();

 private:
  DeviceContext(Device& device, std::shared_ptr<WorkSink> sink, const ContextLimits& limits,
                std::shared_ptr<MemoryAccount> memory);

  absl::Status CheckOpen() const ACCELD_REQUIRES(mutex_);
  absl::StatusOr<internal::StreamState*> FindStream(Stream stream) ACCELD_REQUIRES(mutex_);
  absl::StatusOr<std::shared_ptr<internal::EventRecord>*> FindEvent(Event event)
      ACCELD_REQUIRES(mutex_);
  // Submits a copy of `bytes` bytes between the host and `address`; `work` makes it from where that
  // is.
  absl::Status Copy(Address address, std::uint64_t bytes, std::string_view what, Stream stream,
                    absl::FunctionRef<Work(std::byte*)> work, bool takes_error,
                    std::shared_ptr<const void> host, Done&& done);
  absl::StatusOr<std::byte*> AllocateOnDevice(std::uint64_t bytes, const AllocOptions& options);
  // Takes the address that a client chose.
  absl::Status Claim(Address chosen, std::uint64_t bytes) ACCELD_REQUIRES(mutex_);
  // Lets a chosen address stand for the error of its allocation; returns the error.
  absl::Status FailAlloc(Address chosen, std::uint64_t bytes, absl::Status error)
      ACCELD_REQUIRES(mutex_);

  // Appends an item; Pump must follow once the lock is released.
  void Append(internal::StreamState& stream, decltype(internal::Item::action) action, Done done)
      ACCELD_REQUIRES(mutex_);
  void MarkReady(internal::StreamState& stream) ACCELD_REQUIRES(mutex_);
  // Ends an item; its stream then takes it out.
  void Finish(internal::Item& item, absl::Status status) ACCELD_REQUIRES(mutex_);
  // Ends an item that has not started, and whoever waits for it, with `status`.
  void Cancel(internal::Item& item, const absl::Status& status) ACCELD_REQUIRES(mutex_);
  // Ends the first item of a stream.
  void FinishFront(internal::StreamState& stream, absl::Status status) ACCELD_REQUIRES(mutex_);
  void Complete(Done done, absl::Status status) ACCELD_REQUIRES(mutex_);

  // Runs callbacks and advances streams until there is nothing left to do. One thread at a time
  // does; a second one that comes leaves its work to the first. A thread that has done much leaves
  // the rest to one that waits for room, if there is one, so that nobody works for others for ever.
  void Pump() ACCELD_EXCLUDES(mutex_);
  // Lets go of what is finished, and calls back; false where there is nothing.
  bool CallBack() ACCELD_REQUIRES(mutex_);
  // Advances a stream as far as it goes without the device; returns the item to hand to the device,
  // if that comes next.
  internal::Item* Advance(internal::StreamState& stream) ACCELD_REQUIRES(mutex_);
  // Carries out a stream's first item, which is no work for the device. False where it must wait.
  bool AdvanceControl(internal::StreamState& stream, internal::Item& item) ACCELD_REQUIRES(mutex_);
  void Reach(internal::EventRecord& record, const internal::StreamError& error)
      ACCELD_REQUIRES(mutex_);
  void OnWorkDone(internal::StreamState& stream, internal::Item& item, const WorkResult& result);
  // Keeps a stream that takes no more work until its items are finished.
  void Leave(std::unique_ptr<internal::StreamState> stream) ACCELD_REQUIRES(mutex_);
  void RemoveIfOver(internal::StreamState& stream) ACCELD_REQUIRES(mutex_);
  static void TakeEarlier(internal::StreamError& earliest, internal::StreamError error);

  Device& device_;
  const std::shared_ptr<WorkSink> sink_;
  const OpSet supported_ops_;
  const ContextLimits limits_;
  // Shared with allocations, which may outlive the context.
  const std::shared_ptr<MemoryAccount> memory_;

  mutable Mutex mutex_;
  bool closed_ ACCELD_GUARDED_BY(mutex_) = false;
  AddressSpace addresses_ ACCELD_GUARDED_BY(mutex_);
  AddressRange client_addresses_ ACCELD_GUARDED_BY(mutex_) = AddressSpace::ClientRange();
  AddressRange server_addresses_ ACCELD_GUARDED_BY(mutex_) = AddressSpace::ServerRange();
  // Calls of Alloc that have not returned, which count for the limit.
  std::size_t allocating_ ACCELD_GUARDED_BY(mutex_) = 0;

  // By number. Destroyed streams move to `leaving_` until their items are finished.
  absl::flat_hash_map<Stream, std::unique_ptr<internal::StreamState>> streams_
      ACCELD_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<internal::StreamState>> leaving_ ACCELD_GUARDED_BY(mutex_);
  HandleRange stream_numbers_ ACCELD_GUARDED_BY(mutex_);
  std::size_t creating_streams_ ACCELD_GUARDED_BY(mutex_) = 0;
  // The latest record of each event; null where it was never recorded.
  absl::flat_hash_map<Event, std::shared_ptr<internal::EventRecord>> events_
      ACCELD_GUARDED_BY(mutex_);
  HandleRange event_numbers_ ACCELD_GUARDED_BY(mutex_);
  // The earliest error of streams that are gone, for Synchronize.
  internal::StreamError left_error_ ACCELD_GUARDED_BY(mutex_);

  std::uint64_t submissions_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::size_t unfinished_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::size_t room_waiters_ ACCELD_GUARDED_BY(mutex_) = 0;
  CondVar room_;
  bool pumping_ ACCELD_GUARDED_BY(mutex_) = false;
  // Whether who waits for room is to pump.
  bool pump_wanted_ ACCELD_GUARDED_BY(mutex_) = false;
  std::deque<internal::StreamState*> ready_ ACCELD_GUARDED_BY(mutex_);
  std::vector<internal::Finished> finished_ ACCELD_GUARDED_BY(mutex_);
  // Of streams that are over.
  std::vector<DeviceQueue> old_queues_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld
