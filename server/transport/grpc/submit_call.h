// One Submit call: a client's sequence of commands, taken as they arrive and answered as they
// finish.
//
// The life of a message:
//  1. gRPC reads it; OnReadDone has it parsed, or finds that it is one large write, whose bytes
//  then
//     stay where they are.
//  2. Proceed takes its commands one after another: decoded, then submitted to the session. Where
//     the session has too much in flight it stops, and nothing more is read, so the client is
//     slowed down by HTTP/2.
//  3. The session calls OnCommandDone for each, from any thread, in any order.
//  4. MaybeWrite sends what there is to say, one message at a time: the number up to which all
//     commands have finished, and the results that have something to say.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "acceld/v1/compute.pb.h"
#include "backends/core/mutex.h"
#include "google/protobuf/arena.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "proto/wire/bulk_wire.h"
#include "server/transport/grpc/caller.h"

namespace acceld {

class SubmitCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                         public std::enable_shared_from_this<SubmitCall> {
 public:
  // The reactor of a new call; it deletes itself.
  static SubmitCall* Start(const ServiceContext& service, grpc::CallbackServerContext& call);

 private:
  // A command that is not finished, or not all before it are.
  struct Slot {
    // What it holds until it is answered.
    std::uint64_t bytes = 0;
    bool finished = false;
  };
  // A result that waits to be sent, with the bytes in it that count until then.
  struct Pending {
    v1::CommandResult result;
    std::uint64_t bytes;
  };

  SubmitCall(const ServiceContext& service, grpc::CallbackServerContext& call);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  // Takes the message that was read: `request_`, or `bulk_` where it is one large write.
  absl::Status TakeMessage();
  // Finds and holds the session that the first message names.
  absl::Status Attach();
  // Submits commands of the message, as many as there is room for.
  void Proceed();
  // Counts as many of the message's next commands as there is room for, up to a number; returns how
  // many. Where it returns 0, there is nothing to do now.
  int Admit() ACCELD_EXCLUDES(mutex_);
  // Submits the message's next command, whose number is `sequence`.
  void SubmitNext(std::uint64_t sequence);
  int command_count() const { return bulk_.has_value() ? 1 : request_->commands_size(); }
  // `answer` says that the result is sent even where it has nothing to say.
  void OnCommandDone(std::uint64_t sequence, bool answer, CommandResult result);
  // Takes no more commands, and ends the call when those taken are answered.
  void EndWith(const absl::Status& why) ACCELD_EXCLUDES(mutex_);
  void OnSessionEnd(const absl::Status& why) ACCELD_EXCLUDES(mutex_);

  bool HasRoom() const ACCELD_REQUIRES(mutex_);
  void MaybeWrite() ACCELD_REQUIRES(mutex_);
  // The next message, from what waits.
  grpc::ByteBuffer NextResponse() ACCELD_REQUIRES(mutex_);
  void MaybeFinish() ACCELD_REQUIRES(mutex_);

  const ServiceContext& service_;
  grpc::CallbackServerContext& call_;
  // Keeps this object until gRPC is done with it.
  std::shared_ptr<SubmitCall> self_;
  std::shared_ptr<Session> session_;
  SessionHold hold_;
  std::uint64_t on_end_ = 0;
  bool has_channel_ = false;

  // Of the message being taken; touched by one thread at a time.
  grpc::ByteBuffer message_;
  google::protobuf::Arena arena_;
  // In `arena_`.
  v1::SubmitRequest* request_ = nullptr;
  std::optional<BulkWrite> bulk_;
  // Keeps the bytes of `bulk_`.
  std::shared_ptr<const void> bulk_owner_;
  int next_command_ = 0;
  // Commands taken so far; their sequence numbers are 1 to this.
  std::uint64_t submitted_ = 0;

  Mutex mutex_;
  // All commands up to this have finished; `slots_` are those after it.
  std::uint64_t finished_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::deque<Slot> slots_ ACCELD_GUARDED_BY(mutex_);
  // Keeps this object while commands are in flight, whose callbacks are too many to each count.
  std::shared_ptr<SubmitCall> busy_ ACCELD_GUARDED_BY(mutex_);
  std::uint32_t in_flight_ ACCELD_GUARDED_BY(mutex_) = 0;
  // Bytes written by commands in flight, and read but not sent yet.
  std::uint64_t bytes_in_flight_ ACCELD_GUARDED_BY(mutex_) = 0;
  // Whether Proceed stopped for want of room.
  bool paused_ ACCELD_GUARDED_BY(mutex_) = false;

  // Whether Proceed is at it: then mere progress is reported seldom, and when it is done.
  bool taking_ ACCELD_GUARDED_BY(mutex_) = false;

  std::deque<Pending> results_ ACCELD_GUARDED_BY(mutex_);
  grpc::ByteBuffer response_;
  std::uint64_t response_bytes_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::uint64_t reported_ ACCELD_GUARDED_BY(mutex_) = 0;
  bool greeted_ ACCELD_GUARDED_BY(mutex_) = false;
  bool writing_ ACCELD_GUARDED_BY(mutex_) = false;
  bool input_ended_ ACCELD_GUARDED_BY(mutex_) = false;
  // Set where the server ends the call.
  std::optional<absl::Status> end_ ACCELD_GUARDED_BY(mutex_);
  bool session_over_ ACCELD_GUARDED_BY(mutex_) = false;
  // The client is gone, so nothing more is sent.
  bool broken_ ACCELD_GUARDED_BY(mutex_) = false;
  bool finishing_ ACCELD_GUARDED_BY(mutex_) = false;
};

}  // namespace acceld
