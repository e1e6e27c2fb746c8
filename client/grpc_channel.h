// Commands over gRPC: one Submit call. What is sent while a message is on its way is collected and
// leaves in the next one, so that a busy sender's messages carry many commands and an idle one's
// leave at once.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "acceld/v1/compute.grpc.pb.h"
#include "backends/core/mutex.h"
#include "client/command_channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"

namespace acceld {

// What a message takes besides the bytes of a write.
inline constexpr std::uint64_t kMessageOverheadBytes = 4096;

class GrpcChannel final : public CommandChannel,
                          private grpc::ClientBidiReactor<v1::SubmitRequest, v1::SubmitResponse> {
 public:
  // Starts to submit to the session with `secret`. `stub` outlives the channel. `limits` leave room
  // for a command.
  GrpcChannel(v1::Compute::Stub& stub, const std::string& secret, const v1::Limits& limits,
              OnError on_error);
  // Cancels what is not finished.
  ~GrpcChannel() override;

  void WaitForRoom() override { WaitForRoom(0); }
  std::uint64_t Send(const Command& command, Done done, bool waits) override;
  void Write(Address target, absl::Span<const std::byte> source, Stream stream,
             std::shared_ptr<const void> host) override;
  std::uint64_t Read(absl::Span<std::byte> target, Address source, Stream stream, bool keep_error,
                     CopyDone done) override;
  void Wait(absl::FunctionRef<bool()> ready) override;
  absl::StatusOr<std::shared_ptr<std::byte>> AllocateHost(std::uint64_t bytes) override;
  bool CanMap() const override { return false; }
  absl::StatusOr<std::shared_ptr<std::byte>> Map(Address address,
                                                 std::uint64_t size_bytes) override;
  absl::Status status() const override;

 private:
  // A command that is not finished, or whose result is known before those of earlier ones.
  struct Entry {
    Done done;
    Stream stream{0};
    std::uint64_t bytes = 0;
    bool finished = false;
  };

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  // Sends what is collected, unless a message is on its way.
  void MaybeWrite() ACCELD_REQUIRES(mutex_);
  // Waits until another command that brings or fetches `bytes` bytes has room.
  void WaitForRoom(std::uint64_t bytes) ACCELD_EXCLUDES(mutex_);
  bool HasRoom(std::uint64_t bytes) const ACCELD_REQUIRES(mutex_);
  // The entry of command `number`, null where the daemon names one that is not in flight.
  Entry* Find(std::uint64_t number) ACCELD_REQUIRES(mutex_);
  void TakeResult(v1::CommandResult&& wire);
  // Finishes all commands up to `number`.
  void FinishUpTo(std::uint64_t number);

  const std::uint64_t max_message_commands_;
  const std::uint64_t max_message_bytes_;
  // What one command of a copy carries.
  const std::uint64_t write_bytes_;
  const std::uint64_t read_bytes_;
  const OnError on_error_;
  grpc::ClientContext context_;
  v1::SubmitResponse response_;

  mutable Mutex mutex_;
  CondVar changed_;
  // By number; the first is `first_`.
  std::deque<Entry> entries_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t first_ ACCELD_GUARDED_BY(mutex_) = 1;
  std::uint64_t bytes_in_flight_ ACCELD_GUARDED_BY(mutex_) = 0;
  // Messages that wait; the last one is being filled. The front is on its way while `writing_`.
  std::deque<v1::SubmitRequest> requests_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t filling_bytes_ ACCELD_GUARDED_BY(mutex_) = 0;
  bool writing_ ACCELD_GUARDED_BY(mutex_) = false;
  absl::Status status_ ACCELD_GUARDED_BY(mutex_);
  bool done_ ACCELD_GUARDED_BY(mutex_) = false;
};

}  // namespace acceld
