// A backend on a daemon: checks each call as one in process would, and forwards it as a command.
//
// Work is pipelined: a call returns when its command is on its way. Only what has a result waits:
// Alloc, a copy to the host, the synchronizations and queries.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/compute_backend.h"
#include "backends/context/handle_range.h"
#include "backends/context/program_recorder.h"
#include "backends/context/program_table.h"
#include "backends/core/mutex.h"
#include "backends/memory/address_space.h"
#include "backends/memory/host_memory.h"
#include "client/command_channel.h"
#include "client/connect.h"
#include "client/fork_guard.h"
#include "client/session_handle.h"

namespace acceld {

class RemoteBackend final : public ComputeBackend {
 public:
  // Init connects; see Connect about the arguments.
  RemoteBackend(std::string endpoint, ConnectOptions options);
  // Ends the session: work that has not started is dropped.
  ~RemoteBackend() override;

  absl::Status Init() override;

  // What the daemon said of the session; only after Init.
  const SessionDescription& session() const { return session_->description(); }
  // Where the commands go; only after Init. What is sent here past the backend is not checked.
  CommandChannel& channel() const { return session_->channel(); }

  absl::StatusOr<Address> Alloc(std::uint64_t bytes, const AllocOptions& options = {}) override;
  absl::Status Free(Address address) override;
  absl::Status CopyHtoD(Address target, absl::Span<const std::byte> source,
                        std::optional<Stream> stream = std::nullopt) override;
  absl::Status CopyDtoH(absl::Span<std::byte> target, Address source,
                        std::optional<Stream> stream = std::nullopt) override;
  absl::StatusOr<absl::Span<std::byte>> AllocHost(std::uint64_t bytes) override;
  absl::Status FreeHost(std::byte* data) override;
  absl::StatusOr<absl::Span<std::byte>> Map(Address address) override;
  absl::Status Unmap(Address address) override;
  absl::StatusOr<ShareableHandle> ExportHandle(Address address) override;
  absl::StatusOr<Address> ImportHandle(const ShareableHandle& handle) override;

  absl::Status Run(Op op, Stream stream = kDefaultStream) override;
  absl::StatusOr<Stream> CreateStream(const StreamOptions& options = {}) override;
  absl::Status DestroyStream(Stream stream) override;
  absl::StatusOr<Event> CreateEvent() override;
  absl::Status DestroyEvent(Event event) override;
  absl::Status RecordEvent(Event event, Stream stream = kDefaultStream) override;
  absl::Status WaitEvent(Stream stream, Event event) override;
  absl::StatusOr<bool> QueryEvent(Event event) override;
  absl::Status SynchronizeEvent(Event event) override;
  absl::StatusOr<std::chrono::nanoseconds> ElapsedTime(Event start, Event stop) override;
  absl::Status SynchronizeStream(Stream stream) override;
  absl::Status Synchronize() override;
  absl::Status BeginRecording(Stream stream) override;
  absl::StatusOr<Program> EndRecording(Stream stream) override;
  absl::Status Replay(Program program, absl::Span<const Rebinding> rebindings = {},
                      Stream stream = kDefaultStream) override;
  absl::Status DestroyProgram(Program program) override;

  std::string name() const override;
  bool initialized() const override { return initialized_; }
  Capabilities capabilities() const override;
  std::vector<DeviceInfo> devices() const override;
  Tile RecommendedTile(std::int64_t m, std::int64_t n, std::int64_t k) const override;

 private:
  // An error that the daemon reported of a command nobody waits for.
  struct LateError {
    std::uint64_t number = 0;
    absl::Status status;
  };

  // OK where calls can be made: initialized, connected, not in a forked child.
  absl::Status Ready() const;
  // Whether the device's memory is the host's, and the transport shows it.
  bool CanMap() const;
  absl::StatusOr<std::uint64_t> SizeOfMappable(Address address, std::string_view action) const
      ACCELD_REQUIRES(mutex_);
  absl::Status CheckStream(Stream stream) const ACCELD_REQUIRES(mutex_);
  absl::Status CheckEvent(Event event) const ACCELD_REQUIRES(mutex_);
  // Keeps an item for the program that `stream` records.
  absl::Status Keep(Stream stream, ProgramItem item);
  // Sends a command that nobody waits for.
  void Post(const Command& command) ACCELD_REQUIRES(mutex_) { channel().Send(command); }

  // The result of a command, waited for, and its number.
  struct Answer {
    std::uint64_t number;
    CommandResult result;
  };
  // Sends `command`, which `check` may set, if that returns OK, and waits for the answer.
  template <typename Check>
  absl::StatusOr<Answer> Ask(const Command& command, Check check) ACCELD_EXCLUDES(mutex_);

  void OnLateError(std::uint64_t number, Stream stream, const absl::Status& error);
  // Clears the error of a stream, or of all, as the daemon did with what was sent before command
  // `number`; returns `status`, or where that is OK what was cleared.
  absl::Status TakeLateError(std::optional<Stream> stream, std::uint64_t number,
                             absl::Status status);

  const std::string endpoint_;
  const ConnectOptions options_;
  const ForkGuard fork_guard_;
  ProgramRecorder recorder_;
  HostMemory host_memory_;

  Mutex init_mutex_;
  std::atomic<bool> initialized_{false};
  std::unique_ptr<SessionHandle> session_;

  // Held while a view is made, so that each allocation gets one. Comes before `mutex_`.
  Mutex map_mutex_;
  mutable Mutex mutex_;
  AddressSpace addresses_ ACCELD_GUARDED_BY(mutex_);
  absl::flat_hash_set<Stream> streams_ ACCELD_GUARDED_BY(mutex_){kDefaultStream};
  absl::flat_hash_set<Event> events_ ACCELD_GUARDED_BY(mutex_);
  // The mappable allocations, by address, with their views; null where not mapped.
  absl::flat_hash_map<Address, std::shared_ptr<std::byte>> mappable_ ACCELD_GUARDED_BY(mutex_);
  HandleRange stream_numbers_ ACCELD_GUARDED_BY(mutex_);
  HandleRange event_numbers_ ACCELD_GUARDED_BY(mutex_);
  HandleRange program_numbers_ ACCELD_GUARDED_BY(mutex_);
  // Made by Init, which knows the limits.
  std::optional<ProgramTable> programs_ ACCELD_GUARDED_BY(mutex_);

  Mutex errors_mutex_;
  // The first of each stream.
  absl::flat_hash_map<Stream, LateError> late_errors_ ACCELD_GUARDED_BY(errors_mutex_);
};

}  // namespace acceld
