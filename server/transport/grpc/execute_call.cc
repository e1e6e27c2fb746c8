#include "server/transport/grpc/execute_call.h"

#include <atomic>
#include <memory>
#include <vector>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "proto/wire/command_wire.h"
#include "proto/wire/grpc_status.h"

namespace acceld {
namespace {

// What the commands of one call share.
struct Execution {
  grpc::ServerUnaryReactor* reactor;
  v1::ExecuteResponse* response;
  std::vector<CommandResult> results;
  std::atomic<int> unfinished;

  void FinishOne() {
    if (--unfinished > 0) return;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (WorthSending(results[i])) {
        ToWire(std::move(results[i]), i + 1, *response->add_results());
      }
    }
    reactor->Finish(grpc::Status::OK);
  }
};

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

}  // namespace

grpc::ServerUnaryReactor* ServeExecute(const ServiceContext& service,
                                       grpc::CallbackServerContext& call,
                                       const v1::ExecuteRequest& request,
                                       v1::ExecuteResponse& response) {
  grpc::ServerUnaryReactor* reactor = call.DefaultReactor();
  const auto session = FindSession(service, call, request.session_secret());
  absl::Status checked = session.ok() ? CheckRequest(request, **session) : session.status();
  if (!checked.ok()) {
    reactor->Finish(ToGrpcStatus(checked));
    return reactor;
  }
  auto execution = std::make_shared<Execution>();
  execution->reactor = reactor;
  execution->response = &response;
  execution->results.resize(request.commands_size());
  // One more than there are commands, so that it does not finish while they are being submitted.
  execution->unfinished = request.commands_size() + 1;
  for (int i = 0; i < request.commands_size(); ++i) {
    absl::StatusOr<Command> command = FromWire(v1::Command(request.commands(i)));
    if (!command.ok()) {
      execution->results[i].status = command.status();
      execution->FinishOne();
      continue;
    }
    (*session)->Submit(*std::move(command), [execution, i](CommandResult result) {
      execution->results[i] = std::move(result);
      execution->FinishOne();
    });
  }
  execution->FinishOne();
  return reactor;
}

}  // namespace acceld
