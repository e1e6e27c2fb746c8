#include "server/transport/grpc/submit_call.h"

#include <algorithm>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "proto/wire/command_wire.h"
#include "proto/wire/grpc_status.h"
#include "server/transport/grpc/command_bytes.h"

namespace acceld {
namespace {

// Results for one message are collected up to this, less one result.
constexpr std::size_t kResponseBytes = 1 << 20;

// Whether somebody may wait for just this command, so that it is answered when it is over and not
// only when all before it are.
bool IsSynchronization(const Command& command) {
  return std::holds_alternative<command::SynchronizeStream>(command.action) ||
         std::holds_alternative<command::SynchronizeEvent>(command.action) ||
         std::holds_alternative<command::Synchronize>(command.action);
}

}  // namespace

SubmitCall* SubmitCall::Start(const ServiceContext& service, grpc::CallbackServerContext& call) {
  std::shared_ptr<SubmitCall> submit(new SubmitCall(service, call));
  submit->self_ = submit;
  submit->StartRead(&submit->request_);
  return submit.get();
}

void SubmitCall::OnReadDone(bool ok) {
  if (!ok) {
    MutexLock lock(mutex_);
    input_ended_ = true;
    MaybeFinish();
    return;
  }
  if (session_ == nullptr) {
    if (absl::Status attached = Attach(); !attached.ok()) return EndWith(attached);
  }
  if (request_.commands_size() > static_cast<int>(session_->limits().message_commands)) {
    return EndWith(
        InvalidArgument(fmt::format("A message has {} commands; the limit is {}.",
                                    request_.commands_size(), session_->limits().message_commands),
                        reason::kLimitExceeded));
  }
  session_->Touch();
  next_command_ = 0;
  Proceed();
}

absl::Status SubmitCall::Attach() {
  ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<Session> session,
                          FindSession(service_, call_, request_.session_secret()));
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
  while (true) {
    std::uint64_t sequence = 0;
    std::uint64_t bytes = 0;
    {
      MutexLock lock(mutex_);
      if (end_.has_value() || broken_) return;
      if (next_command_ == request_.commands_size()) {
        StartRead(&request_);
        return;
      }
      if (!HasRoom()) {
        paused_ = true;
        return;
      }
      bytes = BytesOf(request_.commands(next_command_));
      sequence = ++accepted_;
      done_beyond_.push_back(false);
      ++in_flight_;
      bytes_in_flight_ += bytes;
    }
    absl::StatusOr<Command> command =
        FromWire(std::move(*request_.mutable_commands(next_command_++)));
    if (!command.ok()) {
      OnCommandDone(sequence, bytes, false, {.status = command.status(), .value = {}});
      continue;
    }
    const bool answer = IsSynchronization(*command);
    session_->Submit(*std::move(command),
                     [self = shared_from_this(), sequence, bytes, answer](CommandResult result) {
                       self->OnCommandDone(sequence, bytes, answer, std::move(result));
                     });
  }
}

bool SubmitCall::HasRoom() const {
  const SessionLimits& limits = session_->limits();
  // Results that the client does not take count too, or it could heap them up.
  return in_flight_ + results_.size() < limits.commands_in_flight &&
         bytes_in_flight_ < limits.bytes_in_flight;
}

void SubmitCall::OnCommandDone(std::uint64_t sequence, std::uint64_t bytes, bool answer,
                               CommandResult result) {
  bool resume = false;
  {
    MutexLock lock(mutex_);
    done_beyond_[sequence - finished_ - 1] = true;
    while (!done_beyond_.empty() && done_beyond_.front()) {
      done_beyond_.pop_front();
      ++finished_;
    }
    --in_flight_;
    if (answer || WorthSending(result)) {
      // Bytes that were read are in flight until they are sent.
      const bool has_data = std::holds_alternative<std::string>(result.value);
      Pending& pending = results_.emplace_back();
      pending.bytes = has_data ? bytes : 0;
      if (!has_data) bytes_in_flight_ -= bytes;
      ToWire(std::move(result), sequence, pending.result);
    } else {
      bytes_in_flight_ -= bytes;
    }
    MaybeWrite();
    // Half empty before it goes on, so that it goes on with many at a time.
    if (paused_ && HasRoom() && in_flight_ <= session_->limits().commands_in_flight / 2) {
      paused_ = false;
      resume = true;
    }
    MaybeFinish();
  }
  if (resume) Proceed();
}

void SubmitCall::MaybeWrite() {
  if (writing_ || broken_ || finishing_) return;
  if (greeted_ && results_.empty() && reported_ == finished_) return;
  greeted_ = true;
  response_.Clear();
  response_bytes_ = 0;
  std::size_t size = 0;
  while (!results_.empty() && size < kResponseBytes) {
    size += results_.front().result.ByteSizeLong();
    response_bytes_ += results_.front().bytes;
    *response_.add_results() = std::move(results_.front().result);
    results_.pop_front();
  }
  // A number says that the results up to it have been sent, so it waits for them.
  if (results_.empty()) reported_ = finished_;
  response_.set_finished_sequence(reported_);
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
