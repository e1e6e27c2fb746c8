// A session: one client's addresses, streams and events on one device, and the commands it sends.
// The same for every transport, so nothing here knows gRPC or sockets; and it names no op.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/context/device_context.h"
#include "backends/core/mutex.h"
#include "proto/command/command.h"
#include "server/scheduler/scheduler.h"
#include "server/session/session_limits.h"
#include "server/transport/peer.h"

namespace acceld {

// Who opened a session, and on what.
struct SessionInfo {
  // The public number.
  std::uint64_t id = 0;
  // 16 random bytes; never logged or listed.
  std::string secret{};
  Peer peer{};
  // How it was opened, such as "grpc+unix".
  std::string transport{};
  std::string client_name{};
  DeviceInfo device{};
  OpSet supported_ops{};
  // Why this device was chosen, for people.
  std::string choice{};
  std::chrono::steady_clock::time_point opened{};
};

// Thread-safe.
class Session : public std::enable_shared_from_this<Session> {
 public:
  using Done = absl::AnyInvocable<void(CommandResult)>;

  // `device` and `scheduler` outlive the session and its work. What it allocates counts in
  // `memory`.
  static absl::StatusOr<std::shared_ptr<Session>> Create(SessionInfo info, Device& device,
                                                         Scheduler& scheduler,
                                                         const SessionLimits& limits,
                                                         std::shared_ptr<MemoryAccount> memory);

  const SessionInfo& info() const { return info_; }
  const SessionLimits& limits() const { return limits_; }

  // Takes one command. `done` is called exactly once, from any thread, also from inside Submit,
  // when the command has finished or failed; it must not block. Commands take effect in the order
  // of the calls.
  void Submit(Command command, Done done);

  // From now on commands fail with `why`; those that were submitted finish. Only the first call
  // counts.
  void Refuse(const absl::Status& why);

  // Whether [address, address + bytes) lies in one allocation; `what` names it in the error.
  absl::Status CheckRange(Address address, std::uint64_t bytes, std::string_view what) const {
    return context_->CheckRange(address, bytes, what);
  }

  // As Device's.
  std::uint64_t quick_allocation_bytes() const { return device_.quick_allocation_bytes(); }

  // The file behind a mappable allocation, for the client's process to map.
  absl::StatusOr<MappedMemory> Map(Address address) const { return context_->Map(address); }
  // Openable memory, for any process.
  absl::StatusOr<ShareableHandle> ExportHandle(Address address) const {
    return context_->ExportHandle(address);
  }

  // How many commands are submitted and not finished.
  std::uint32_t in_flight() const { return in_flight_; }

  // Counts memory that calls besides the command channel hold for the session; false where it would
  // go over the limit of bytes in flight. One call alone may hold any number, so that a limit below
  // the size of a message is not the end of it.
  bool TakeBytes(std::uint64_t bytes);
  void ReturnBytes(std::uint64_t bytes) { held_bytes_ -= bytes; }

  // Drops what has not started and frees everything; later commands fail with SESSION_ENDED. Calls
  // the callbacks of OnEnd. Only the first call counts.
  // A cause without a reason gets SESSION_ENDED.
  void End(const absl::Status& cause);
  bool ended() const { return ended_; }

  // `callback` is called when the session ends, at once if it has; it must not block. Returns a
  // number for RemoveOnEnd.
  std::uint64_t OnEnd(absl::AnyInvocable<void(const absl::Status&)> callback);
  // The callback is not called after this returns, unless it is being called right now.
  void RemoveOnEnd(std::uint64_t number);

  // Counts host memory that the client shares with the daemon: rings and what it stages copies in.
  // Out of memory where it would go over the limit.
  absl::Status TakeHostBytes(std::uint64_t bytes);
  void ReturnHostBytes(std::uint64_t bytes) { host_bytes_ -= bytes; }
  std::uint64_t host_bytes() const { return host_bytes_; }

  // As Device's. False where the device does not take it, which is logged, once a session.
  bool RegisterHost(std::byte* data, std::uint64_t bytes);
  void UnregisterHost(std::byte* data) { device_.UnregisterHost(data); }

  // Gives the one place of a command channel; false while another has it.
  bool TakeChannel() { return !channel_taken_.exchange(true); }
  void ReturnChannel() { channel_taken_ = false; }
  bool channel_taken() const { return channel_taken_; }

  // From now on its commands come by `transport`, such as "shm", and it ends with this connection.
  void MoveTo(std::string_view transport, std::uint64_t connection_id);
  std::string transport() const {
    MutexLock lock(mutex_);
    return transport_;
  }
  std::uint64_t connection_id() const { return connection_id_; }

  // When a call last named the session; see SessionTable about leases.
  void Touch() { last_used_ = std::chrono::steady_clock::now(); }
  std::chrono::steady_clock::time_point last_used() const { return last_used_; }

  std::uint64_t memory_bytes() const { return context_->live_bytes(); }
  std::uint64_t ops() const { return flow_->ops(); }
  std::chrono::nanoseconds device_time() const { return flow_->device_time(); }

 private:
  Session(SessionInfo info, Device& device, std::shared_ptr<Flow> flow,
          std::shared_ptr<DeviceContext> context, const SessionLimits& limits);

  // Ends a command.
  void Finish(Done& done, CommandResult result);
  // A callback that ends a command which returns nothing.
  DeviceContext::Done StatusDone(Done done);
  // Ends a command whose work `submitted` says was taken, or not.
  static void FailUnless(absl::Status submitted, DeviceContext::Done& done);

  // One per command; each finishes it, now or when its work is done.
  void Do(command::Run& run, Stream stream, Done done);
  void Do(command::Write& write, Stream stream, Done done);
  void Do(command::Read& read, Stream stream, Done done);
  void Do(command::Alloc& alloc, Stream stream, Done done);
  void Do(command::Free& free, Stream stream, Done done);
  void Do(command::CreateStream& create, Stream stream, Done done);
  void Do(command::DestroyStream& destroy, Stream stream, Done done);
  void Do(command::CreateEvent& create, Stream stream, Done done);
  void Do(command::DestroyEvent& destroy, Stream stream, Done done);
  void Do(command::RecordEvent& record, Stream stream, Done done);
  void Do(command::WaitEvent& wait, Stream stream, Done done);
  void Do(command::QueryEvent& query, Stream stream, Done done);
  void Do(command::SynchronizeEvent& synchronize, Stream stream, Done done);
  void Do(command::ElapsedTime& elapsed, Stream stream, Done done);
  void Do(command::DefineProgram& define, Stream stream, Done done);
  void Do(command::Replay& replay, Stream stream, Done done);
  void Do(command::DestroyProgram& destroy, Stream stream, Done done);
  void Do(command::SynchronizeStream& synchronize, Stream stream, Done done);
  void Do(command::Synchronize& synchronize, Stream stream, Done done);
  void Do(command::NoOp& no_op, Stream stream, Done done);

  const SessionInfo info_;
  const SessionLimits limits_;
  Device& device_;
  const std::shared_ptr<Flow> flow_;
  const std::shared_ptr<DeviceContext> context_;
  std::atomic<std::uint32_t> in_flight_{0};
  std::atomic<std::uint64_t> held_bytes_{0};
  std::atomic<std::uint64_t> host_bytes_{0};
  std::atomic<bool> channel_taken_{false};
  std::atomic<std::uint64_t> connection_id_;
  std::atomic<std::chrono::steady_clock::time_point> last_used_{std::chrono::steady_clock::now()};
  std::atomic<bool> refuses_{false};
  std::atomic<bool> stages_{false};
  std::atomic<bool> ended_{false};

  mutable Mutex mutex_;
  std::string transport_ ACCELD_GUARDED_BY(mutex_);
  absl::Status refusal_ ACCELD_GUARDED_BY(mutex_);
  absl::Status end_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t next_callback_ ACCELD_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<std::uint64_t, absl::AnyInvocable<void(const absl::Status&)>> callbacks_
      ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld
