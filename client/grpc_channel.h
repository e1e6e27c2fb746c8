// Commands over gRPC: one Submit call. What is sent while a message is on its way is collected and
// leaves in the next one, so that a busy sender's messages carry many commands and an idle one's
// leave at once.
//
// The bytes of a large write leave from where the caller has them, in a message of their own, and
// those of a large read go from gRPC's buffers to their target; protobuf sees neither.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "acceld/v1/compute.pb.h"
#include "backends/core/mutex.h"
#include "client/command_channel.h"
#include "google/protobuf/arena.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/client_callback.h"
#include "proto/wire/bulk_wire.h"
#include "proto/wire/command_wire.h"

namespace acceld {

// What a message takes besides the bytes of a write.
inline constexpr std::uint64_t kMessageOverheadBytes = 4096;

class GrpcChannel final : public CommandChannel,
                          private grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // Starts to submit to the session with `secret` over `connection`. `limits` leave room for a
  // command.
  GrpcChannel(std::shared_ptr<grpc::Channel> connection, const std::string& secret,
              const v1::Limits& limits, OnError on_error);
  // Cancels what is not finished.
  ~GrpcChannel() override;

  std::uint64_t EncodedBytes(const Command& command) const override { return WireBytes(command); }
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
  bool BringsDescriptors() const override { return false; }
  absl::StatusOr<ShareableHandle> ExportHandle(Address address) override;
  absl::Status status() const override;

 private:
  // A command that is not finished, or whose result is known before those of earlier ones.
  struct Entry {
    Done done;
    Stream stream{0};
    std::uint64_t bytes = 0;
    // Where the bytes of a read go; empty for any other command.
    absl::Span<std::byte> target = {};
    bool finished = false;
  };

  // A message that waits to be sent.
  struct Message {
    // Encoded commands, or the whole message where `bulk` is set.
    std::string commands;
    grpc::ByteBuffer bytes;
    std::uint64_t command_count = 0;
    bool bulk = false;
  };

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  // Adds a command to what is collected. `target` is Entry's. Returns its number.
  std::uint64_t Add(const Command& command, absl::Span<std::byte> target, Done done);
  // Sends a write whose bytes `data` keeps, after what is collected.
  void AddBulk(Address target, Stream stream, grpc::Slice data);
  // What Add and AddBulk share: the entry of a command in the last message.
  void Push(Entry entry) ACCELD_REQUIRES(mutex_);
  // The message that takes `bytes` more bytes of commands.
  Message& Filling(std::uint64_t bytes) ACCELD_REQUIRES(mutex_);
  // Sends what is collected, unless a message is on its way.
  void MaybeWrite() ACCELD_REQUIRES(mutex_);
  // Nothing is read any more: gRPC may end the call, and nobody writes to it.
  void EndWrites() ACCELD_EXCLUDES(mutex_);
  // Waits until another command that brings or fetches `bytes` bytes has room.
  void WaitForRoom(std::uint64_t bytes) ACCELD_EXCLUDES(mutex_);
  bool HasRoom(std::uint64_t bytes) const ACCELD_REQUIRES(mutex_);
  // Whether one who waits for room had better go on.
  bool HasMuchRoom() const ACCELD_REQUIRES(mutex_);
  // Finishes one command: takes its entry out, unless the daemon names one that is not in flight.
  std::optional<Entry> Take(std::uint64_t number) ACCELD_EXCLUDES(mutex_);
  void TakeResult(v1::CommandResult&& wire);
  void TakeBulkResult(const BulkResult& bulk);
  // Tells whoever is to know how a command went.
  void Tell(std::uint64_t number, Entry& entry, CommandResult result);
  // Finishes all commands up to `number`.
  void FinishUpTo(std::uint64_t number);

  const std::uint64_t max_message_commands_;
  const std::uint64_t max_message_bytes_;
  // What one command of a copy carries.
  const std::uint64_t write_bytes_;
  const std::uint64_t read_bytes_;
  const OnError on_error_;
  // Keeps the call, and with it messages that never left, so it goes when the call is over.
  std::unique_ptr<grpc::ClientContext> context_ = std::make_unique<grpc::ClientContext>();
  grpc::ByteBuffer response_;
  // On its way, while `writing_`.
  grpc::ByteBuffer request_;

  mutable Mutex mutex_;
  // Told when what callbacks set may have changed, and when there is room.
  CondVar changed_;
  CondVar room_;
  // By number; the first is `first_`.
  std::deque<Entry> entries_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t first_ ACCELD_GUARDED_BY(mutex_) = 1;
  std::uint64_t bytes_in_flight_ ACCELD_GUARDED_BY(mutex_) = 0;
  // Messages that wait; the last one is being filled unless it is a large write.
  std::deque<Message> messages_ ACCELD_GUARDED_BY(mutex_);
  // Of the command being encoded.
  google::protobuf::Arena arena_ ACCELD_GUARDED_BY(mutex_);
  bool writing_ ACCELD_GUARDED_BY(mutex_) = false;
  // Whether nothing may be sent any more.
  bool ended_ ACCELD_GUARDED_BY(mutex_) = false;
  absl::Status status_ ACCELD_GUARDED_BY(mutex_);
  bool done_ ACCELD_GUARDED_BY(mutex_) = false;
};

}  // namespace acceld
