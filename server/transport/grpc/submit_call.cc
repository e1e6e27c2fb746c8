#include "server/transport/grpc/submit_call.h"

#include <algorithm>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "proto/wire/command_wire.h"
#include "proto/wire/grpc_bytes.h"
#include "proto/wire/grpc_status.h"
#include "server/transport/grpc/bulk_write.h"
#include "server/transport/grpc/command_bytes.h"

namespace acceld {
namespace {

// Results for one message are collected up to this, less one result.
constexpr std::size_t kResponseBytes = 1 << 20;

// A write of so many bytes stays where gRPC has read it. What it then keeps of gRPC's memory is up
// to two of its read buffers (grpc_server.cc) more than is counted for the session.
constexpr std::size_t kBulkBytes = 256 << 10;

// How many commands are admitted at a time.
constexpr int kAdmittedCommands = 64;

// While commands are being taken, progress is reported when so many more have finished.
constexpr std::uint64_t kProgressCommands = 1024;

// Blocks of the arena, below what malloc returns to the system at once.
google::protobuf::ArenaOptions ArenaBlocks() {
  google::protobuf::ArenaOptions options;
  options.start_block_size = 4 << 10;
  options.max_block_size = 64 << 10;
  return options;
}

}  // namespace

SubmitCall::SubmitCall(const ServiceContext& service, grpc::CallbackServerContext& call)
    : service_(service), call_(call), arena_(ArenaBlocks()) {}

SubmitCall* SubmitCall::Start(const ServiceContext& service, grpc::CallbackServerContext& call) {
  std::shared_ptr<SubmitCall> submit(new SubmitCall(service, call));
  submit->self_ = submit;
  submit->StartRead(&submit->message_);
  return submit.get();
}

void SubmitCall::OnReadDone(bool ok) {
  if (!ok) {
    MutexLock lock(mutex_);
    input_ended_ = true;
    MaybeFinish();
    return;
  }
  if (absl::Status taken = TakeMessage(); !taken.ok()) return EndWith(taken);
  session_->Touch();
  next_command_ = 0;
  Proceed();
}

absl::Status SubmitCall::TakeMessage() {
  bulk_.reset();
  if (session_ != nullptr && message_.Length() >= kBulkBytes) {
    auto owner = std::make_shared<grpc::ByteBuffer>();
    owner->Swap(&message_);
    bulk_ = FindBulkWrite(PiecesOf(*owner));
    if (bulk_.has_value()) {
      bulk_owner_ = std::move(owner);
      return absl::OkStatus();
    }
    message_.Swap(owner.get());
  }
  arena_.Reset();
  request_ = google::protobuf::Arena::CreateMessage<v1::SubmitRequest>(&arena_);
  ACCELD_RETURN_IF_ERROR(Parse(message_, *request_));
  message_.Clear();
  if (session_ == nullptr) ACCELD_RETURN_IF_ERROR(Attach());
  if (request_->commands_size() > static_cast<int>(session_->limits().message_commands)) {
    return InvalidArgument(
        fmt::format("A message has {} commands; the limit is {}.", request_->commands_size(),
                    session_->limits().message_commands),
        reason::kLimitExceeded);
  }
  return absl::OkStatus();
}

absl::Status SubmitCall::Attach() {
  ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<Session> session,
                          FindSession(service_, call_, request_->session_secret()));
  if (!session->TakeChannel()) {
    return NotInitialized("Another Submit call has the session; it takes one at a time.",
                          reason::kSessionBusy);
  }
  has_channel_ = true;
  session_ = std::move(session);
  hold_ = service_.sessions.Hold(*session_);
  on_end_ = session_->OnEnd([call = weak_from_this()](const absl::Status& why) {
    if (const auto self = call.lock()) self->OnSessionEnd(why);
  });
  MutexLock lock(mutex_);
  MaybeWrite();
  return absl::OkStatus();
}

void SubmitCall::Proceed() {
  while (const int admitted = Admit()) {
    // Nobody else admits.
    const std::uint64_t first = submitted_ + 1;
    submitted_ += admitted;
    for (int i = 0; i < admitted; ++i) SubmitNext(first + i);
  }
}

int SubmitCall::Admit() {
  MutexLock lock(mutex_);
  int admitted = 0;
  const bool over = end_.has_value() || broken_;
  const int waiting = over ? 0 : command_count() - next_command_;
  while (admitted < std::min(waiting, kAdmittedCommands) && HasRoom()) {
    const std::uint64_t bytes = bulk_.has_value()
                                    ? TotalBytes(bulk_->data)
                                    : BytesOf(request_->commands(next_command_ + admitted));
    slots_.push_back({.bytes = bytes});
    bytes_in_flight_ += bytes;
    ++in_flight_;
    ++admitted;
  }
  taking_ = admitted > 0;
  if (taking_) {
    if (busy_ == nullptr) busy_ = shared_from_this();
    return admitted;
  }
  MaybeWrite();
  MaybeFinish();
  if (over) return 0;
  if (waiting > 0) {
    paused_ = true;
  } else {
    StartRead(&message_);
  }
  return 0;
}

void SubmitCall::SubmitNext(std::uint64_t sequence) {
  const int index = next_command_++;
  if (bulk_.has_value()) {
    return SubmitBulkWrite(*session_, bulk_->stream, bulk_->target, bulk_->data,
                           std::move(bulk_owner_), [this, sequence](CommandResult result) {
                             OnCommandDone(sequence, false, std::move(result));
                           });
  }
  absl::StatusOr<Command> command = FromWire(std::move(*request_->mutable_commands(index)));
  if (!command.ok()) {
    return OnCommandDone(sequence, false, {.status = command.status(), .value = {}});
  }
  if (IsSynchronization(*command)) {
    return session_->Submit(*std::move(command), [this, sequence](CommandResult result) {
      OnCommandDone(sequence, true, std::move(result));
    });
  }
  // As small as a callback can be without memory of its own.
  session_->Submit(*std::move(command), [this, sequence](CommandResult result) {
    OnCommandDone(sequence, false, std::move(result));
  });
}

bool SubmitCall::HasRoom() const {
  const SessionLimits& limits = session_->limits();
  // Results that the client does not take count too, or it could heap them up.
  return in_flight_ + results_.size() < limits.commands_in_flight &&
         bytes_in_flight_ < limits.bytes_in_flight;
}

void SubmitCall::OnCommandDone(std::uint64_t sequence, bool answer, CommandResult result) {
  std::shared_ptr<SubmitCall> self;  // Outlives the lock.
  bool resume = false;
  {
    MutexLock lock(mutex_);
    Slot& slot = slots_[sequence - finished_ - 1];
    slot.finished = true;
    const std::uint64_t bytes = slot.bytes;
    while (!slots_.empty() && slots_.front().finished) {
      slots_.pop_front();
      ++finished_;
    }
    if (--in_flight_ == 0) self = std::move(busy_);
    const bool says = answer || WorthSending(result);
    // Bytes that were read are in flight until they are sent.
    const bool has_data = std::holds_alternative<std::string>(result.value);
    if (!has_data) bytes_in_flight_ -= bytes;
    if (says) {
      Pending& pending = results_.emplace_back();
      pending.bytes = has_data ? bytes : 0;
      ToWire(std::move(result), sequence, pending.result);
    }
    MaybeWrite();
    // Half empty before it goes on, so that it goes on with many at a time.
    if (paused_ && HasRoom() && in_flight_ <= session_->limits().commands_in_flight / 2) {
      paused_ = false;
      resume = true;
      if (self == nullptr) self = shared_from_this();
    }
    MaybeFinish();
  }
  if (resume) Proceed();
}

grpc::ByteBuffer SubmitCall::NextResponse() {
  response_bytes_ = 0;
  // Large data leave from where they are, in a message of their own.
  if (!results_.empty() && results_.front().result.data().size() >= kBulkBytes) {
    Pending pending = std::move(results_.front());
    results_.pop_front();
    if (results_.empty()) reported_ = finished_;
    response_bytes_ = pending.bytes;
    std::string& data = *pending.result.mutable_data();
    const std::string prefix = BulkResultPrefix(reported_, pending.result.sequence(), data.size());
    return ToByteBuffer(prefix, ToSlice(std::move(data)));
  }
  v1::SubmitResponse response;
  std::size_t size = 0;
  while (!results_.empty() && size < kResponseBytes &&
         results_.front().result.data().size() < kBulkBytes) {
    size += results_.front().result.ByteSizeLong();
    response_bytes_ += results_.front().bytes;
    *response.add_results() = std::move(results_.front().result);
    results_.pop_front();
  }
  // A number says that the results up to it have been sent, so it waits for them.
  if (results_.empty()) reported_ = finished_;
  response.set_finished_sequence(reported_);
  return ToByteBuffer(response);
}

void SubmitCall::MaybeWrite() {
  if (writing_ || broken_ || finishing_) return;
  const std::uint64_t progress = taking_ ? kProgressCommands : 1;
  if (greeted_ && results_.empty() && finished_ - reported_ < progress) return;
  greeted_ = true;
  response_ = NextResponse();
  writing_ = true;
  StartWrite(&response_);
}

void SubmitCall::OnWriteDone(bool ok) {
  bool resume = false;
  {
    MutexLock lock(mutex_);
    writing_ = false;
    bytes_in_flight_ -= response_bytes_;
    if (!ok) broken_ = true;
    MaybeWrite();
    if (paused_ && HasRoom()) {
      paused_ = false;
      resume = true;
    }
    MaybeFinish();
  }
  if (resume) Proceed();
}

void SubmitCall::OnCancel() {
  MutexLock lock(mutex_);
  broken_ = true;
  MaybeFinish();
}

void SubmitCall::EndWith(const absl::Status& why) {
  MutexLock lock(mutex_);
  if (!end_.has_value()) end_ = why;
  MaybeFinish();
}

void SubmitCall::OnSessionEnd(const absl::Status& why) {
  MutexLock lock(mutex_);
  session_over_ = true;
  end_ = why;
  MaybeFinish();
}

void SubmitCall::MaybeFinish() {
  if (finishing_ || writing_) return;
  // What still runs when the session is over is nobody's any more.
  const bool all_done = in_flight_ == 0 || session_over_;
  const bool answered = all_done && results_.empty() && reported_ == finished_;
  if (broken_) {
    finishing_ = true;
    Finish(grpc::Status::CANCELLED);
  } else if (end_.has_value() && answered) {
    finishing_ = true;
    Finish(ToGrpcStatus(*end_));
  } else if (input_ended_ && answered) {
    finishing_ = true;
    Finish(grpc::Status::OK);
  }
}

void SubmitCall::OnDone() {
  if (session_ != nullptr) {
    session_->RemoveOnEnd(on_end_);
    if (has_channel_) session_->ReturnChannel();
  }
  // Dropping the hold ends the session, whose commands then call back, so this object stays until
  // then.
  const std::shared_ptr<SubmitCall> self = std::move(self_);
  hold_ = {};
}

}  // namespace acceld
