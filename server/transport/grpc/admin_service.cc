#include "server/transport/grpc/admin_service.h"

#include "backends/core/status.h"
#include "fmt/format.h"
#include "server/transport/grpc/finished.h"

namespace acceld {
namespace {

void Describe(const Session& session, v1::SessionUsage& usage) {
  const SessionInfo& info = session.info();
  const auto age = std::chrono::steady_clock::now() - info.opened;
  usage.set_id(info.id);
  usage.set_identity(info.peer.Identity());
  usage.set_pid(info.peer.pid);
  usage.set_memory_bytes(session.memory_bytes());
  usage.set_device_time_us(session.device_time() / std::chrono::microseconds(1));
  usage.set_ops(session.ops());
  usage.set_client_name(info.client_name);
  usage.set_backend(std::string(Name(info.device.kind)));
  usage.set_transport(session.transport());
  usage.set_age_ms(age / std::chrono::milliseconds(1));
  usage.set_host_bytes(session.host_bytes());
}

}  // namespace

grpc::ServerUnaryReactor* AdminService::ListSessions(grpc::CallbackServerContext* call,
                                                     const v1::ListSessionsRequest*,
                                                     v1::ListSessionsResponse* response) {
  return Finished(*call, List(*call, *response));
}

absl::Status AdminService::List(const grpc::CallbackServerContext& call,
                                v1::ListSessionsResponse& response) {
  ACCELD_ASSIGN_OR_RETURN(const Peer caller, CallerOf(service_, call));
  const bool sees_all = is_admin_(caller);
  const auto sessions = service_.sessions.List();
  for (const auto& session : sessions) {
    if (sees_all || SameIdentity(session->info().peer, caller)) {
      Describe(*session, *response.add_sessions());
    }
  }
  response.set_live_bytes(service_.sessions.live_bytes());
  response.set_session_count(static_cast<std::uint32_t>(sessions.size()));
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* AdminService::EndSession(grpc::CallbackServerContext* call,
                                                   const v1::EndSessionRequest* request,
                                                   v1::EndSessionResponse*) {
  return Finished(*call, End(*call, request->id()));
}

absl::Status AdminService::End(const grpc::CallbackServerContext& call, std::uint64_t id) {
  ACCELD_ASSIGN_OR_RETURN(const Peer caller, CallerOf(service_, call));
  for (const auto& session : service_.sessions.List()) {
    if (session->info().id != id) continue;
    if (!is_admin_(caller) && !SameIdentity(session->info().peer, caller)) break;
    service_.sessions.End(*session,
                          absl::CancelledError("An administrator has ended the session."));
    return absl::OkStatus();
  }
  return WithReason(absl::NotFoundError(fmt::format("There is no session {} that {} may end.", id,
                                                    caller.Identity())),
                    reason::kSessionNotFound);
}

grpc::ServerUnaryReactor* AdminService::Drain(grpc::CallbackServerContext* call,
                                              const v1::DrainRequest*,
                                              v1::DrainResponse* response) {
  return Finished(*call, BeginDrain(*call, *response));
}

absl::Status AdminService::BeginDrain(const grpc::CallbackServerContext& call,
                                      v1::DrainResponse& response) {
  ACCELD_ASSIGN_OR_RETURN(const Peer caller, CallerOf(service_, call));
  if (!is_admin_(caller)) {
    return WithReason(
        absl::PermissionDeniedError(fmt::format(
            "{} may not drain the daemon; its configuration names the administrators (admins).",
            caller.Identity())),
        reason::kPermissionDenied);
  }
  drain_();
  response.set_session_count(static_cast<std::uint32_t>(service_.sessions.List().size()));
  return absl::OkStatus();
}

}  // namespace acceld
