// Who calls, and which session a call names.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "server/session/session_table.h"
#include "server/transport/connection_table.h"

namespace acceld {

// What every call needs. All outlive the gRPC server.
struct ServiceContext {
  SessionTable& sessions;
  DevicePool& devices;
  const ConnectionTable& connections;
  SessionLimits limits;
};

// The peer at the other end of the call's connection.
inline absl::StatusOr<Peer> CallerOf(const ServiceContext& service,
                                     const grpc::CallbackServerContext& call) {
  std::optional<Peer> peer = service.connections.Find(call.peer());
  if (!peer.has_value()) return absl::UnauthenticatedError("The connection is closed.");
  return *std::move(peer);
}

// The session that a call shows the secret of.
inline absl::StatusOr<std::shared_ptr<Session>> FindSession(const ServiceContext& service,
                                                            const grpc::CallbackServerContext& call,
                                                            std::string_view secret) {
  ACCELD_ASSIGN_OR_RETURN(const Peer caller, CallerOf(service, call));
  return service.sessions.Find(secret, caller);
}

}  // namespace acceld
