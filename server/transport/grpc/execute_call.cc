#include "server/transport/grpc/execute_call.h"

#include <algorithm>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "proto/wire/command_wire.h"
#include "proto/wire/grpc_status.h"
#include "server/transport/grpc/command_bytes.h"

namespace acceld {
namespace {

absl::Status CheckRequest(const v1::ExecuteRequest& request, const Session& session) {
  const SessionLimits& limits = session.limits();
  if (request.commands_size() > static_cast<int>(limits.message_commands)) {
    return InvalidArgument(fmt::format("The call has {} commands; the limit is {}.",
                                       request.commands_size(), limits.message_commands),
                           reason::kLimitExceeded);
  }
  // The results of all reads go into one message, and wait in memory for each other.
  std::uint64_t read_bytes = 0;
  for (const v1::Command& command : request.commands()) {
    if (command.has_read()) read_bytes += std::min(command.read().size_bytes(), limits.read_bytes);
  }
  const std::uint64_t allowed = limits.message_bytes / 2;
  if (read_bytes > allowed) {
    return InvalidArgument(fmt::format("The call reads {} bytes; the limit is {} for all its reads "
                                       "together. Compute.Read takes any size.",
                                       read_bytes, allowed),
                           reason::kLimitExceeded);
  }
  if (session.channel_taken()) {
    return NotInitialized("A Submit call has the session, and with it the order of its commands.",
                          reason::kSessionBusy);
  }
  return absl::OkStatus();
}

// What the call holds until it is answered: its message, what is decoded from it, and its answer.
std::uint64_t BytesToHold(const v1::ExecuteRequest& request, const SessionLimits& limits) {
  std::uint64_t bytes = request.ByteSizeLong();
  for (const v1::Command& command : request.commands()) {
    // A read of more than that fails and returns nothing.
    bytes += command.has_read() ? std::min(BytesOf(command), limits.read_bytes) : BytesOf(command);
  }
  return bytes;
}

}  // namespace

ExecuteCall* ExecuteCall::Start(const ServiceContext& service,
                                const grpc::CallbackServerContext& call,
                                const v1::ExecuteRequest& request, v1::ExecuteResponse& response) {
  auto* execute = new ExecuteCall(response);
  if (absl::Status attached = execute->Attach(service, call, request); !attached.ok()) {
    execute->Finish(ToGrpcStatus(attached));
  } else {
    execute->Run(request);
  }
  return execute;
}

absl::Status ExecuteCall::Attach(const ServiceContext& service,
                                 const grpc::CallbackServerContext& call,
                                 const v1::ExecuteRequest& request) {
  ACCELD_ASSIGN_OR_RETURN(const std::shared_ptr<Session> session,
                          FindSession(service, call, request.session_secret()));
  ACCELD_RETURN_IF_ERROR(CheckRequest(request, *session));
  ACCELD_ASSIGN_OR_RETURN(held_, HeldBytes::Take(session, BytesToHold(request, session->limits())));
  session_ = session;
  return absl::OkStatus();
}

void ExecuteCall::Run(const v1::ExecuteRequest& request) {
  results_.resize(request.commands_size());
  // One more than there are commands, so that it does not finish while they are being submitted.
  unfinished_ = request.commands_size() + 1;
  for (int i = 0; i < request.commands_size(); ++i) {
    absl::StatusOr<Command> command = FromWire(v1::Command(request.commands(i)));
    if (!command.ok()) {
      results_[i].status = command.status();
      FinishOne();
      continue;
    }
    session_->Submit(*std::move(command), [this, i](CommandResult result) {
      results_[i] = std::move(result);
      FinishOne();
    });
  }
  FinishOne();
}

void ExecuteCall::FinishOne() {
  if (--unfinished_ > 0) return;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (WorthSending(results_[i])) {
      ToWire(std::move(results_[i]), i + 1, *response_.add_results());
    }
  }
  Finish(grpc::Status::OK);
}

}  // namespace acceld
