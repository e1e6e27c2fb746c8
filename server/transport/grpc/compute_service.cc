#include "server/transport/grpc/compute_service.h"

#include "backends/core/status.h"
#include "fmt/format.h"
#include "proto/wire/device_wire.h"
#include "server/transport/grpc/attach_call.h"
#include "server/transport/grpc/execute_call.h"
#include "server/transport/grpc/finished.h"
#include "server/transport/grpc/read_call.h"
#include "server/transport/grpc/server_info.h"
#include "server/transport/grpc/submit_call.h"
#include "server/transport/grpc/write_call.h"

namespace acceld {
namespace {

constexpr std::size_t kMaxClientNameBytes = 64;

absl::Status CheckClientName(const std::string& name) {
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (name.size() <= kMaxClientNameBytes && std::all_of(name.begin(), name.end(), printable)) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      fmt::format("client_name has {} bytes; it is at most {} bytes of printable ASCII.",
                  name.size(), kMaxClientNameBytes));
}

}  // namespace

grpc::ServerUnaryReactor* ComputeService::GetServerInfo(grpc::CallbackServerContext* call,
                                                        const v1::GetServerInfoRequest*,
                                                        v1::ServerInfo* response) {
  DescribeServer(service_.devices, service_.limits, service_.sessions.draining(), *response);
  return Finished(*call, absl::OkStatus());
}

grpc::ServerUnaryReactor* ComputeService::OpenSession(grpc::CallbackServerContext* call,
                                                      const v1::OpenSessionRequest* request,
                                                      v1::Session* response) {
  return Finished(*call, Open(*call, *request, *response));
}

absl::Status ComputeService::Open(const grpc::CallbackServerContext& call,
                                  const v1::OpenSessionRequest& request, v1::Session& response) {
  ACCELD_ASSIGN_OR_RETURN(const std::uint32_t version,
                          NegotiateVersion(request.protocol_versions()));
  ACCELD_RETURN_IF_ERROR(CheckClientName(request.client_name()));
  ACCELD_ASSIGN_OR_RETURN(SelectionRequest selection, SelectionFromWire(request.device()));
  ACCELD_ASSIGN_OR_RETURN(Peer peer, CallerOf(service_, call));
  const bool is_unix = peer.kind == Peer::Kind::kUnix;
  ACCELD_ASSIGN_OR_RETURN(const std::shared_ptr<Session> session,
                          service_.sessions.Open({.peer = std::move(peer),
                                                  .transport = is_unix ? "grpc+unix" : "grpc+tcp",
                                                  .client_name = request.client_name(),
                                                  .selection = std::move(selection)}));
  // A connection that closed before the session was in the table would leave it to its lease.
  if (absl::Status open = CallerOf(service_, call).status(); !open.ok()) {
    service_.sessions.End(*session, open);
    return open;
  }
  const SessionInfo& info = session->info();
  response.set_id(info.id);
  response.set_secret(info.secret);
  response.set_protocol_version(version);
  ToWire(info.device, *response.mutable_device());
  ToWire(info.supported_ops, *response.mutable_device()->mutable_supported_ops());
  response.set_choice(info.choice);
  response.set_transport(info.transport);
  response.set_identity(info.peer.Identity());
  response.set_lease_ms(session->limits().lease_ms);
  ToWire(session->limits(), *response.mutable_limits());
  return absl::OkStatus();
}

grpc::ServerWriteReactor<v1::AttachSessionResponse>* ComputeService::AttachSession(
    grpc::CallbackServerContext* call, const v1::AttachSessionRequest* request) {
  return AttachCall::Start(service_, *call, *request);
}

grpc::ServerUnaryReactor* ComputeService::CloseSession(grpc::CallbackServerContext* call,
                                                       const v1::CloseSessionRequest* request,
                                                       v1::CloseSessionResponse*) {
  const auto session = FindSession(service_, *call, request->session_secret());
  if (session.ok()) {
    service_.sessions.End(**session, absl::CancelledError("The client has closed the session."));
  }
  return Finished(*call, session.status());
}

grpc::ServerUnaryReactor* ComputeService::Execute(grpc::CallbackServerContext* call,
                                                  const v1::ExecuteRequest* request,
                                                  v1::ExecuteResponse* response) {
  return ExecuteCall::Start(service_, *call, *request, *response);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ComputeService::Submit(
    grpc::CallbackServerContext* call) {
  return SubmitCall::Start(service_, *call);
}

grpc::ServerReadReactor<grpc::ByteBuffer>* ComputeService::Write(grpc::CallbackServerContext* call,
                                                                 grpc::ByteBuffer* response) {
  return new WriteCall(service_, *call, *response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* ComputeService::Read(grpc::CallbackServerContext* call,
                                                                 const grpc::ByteBuffer* request) {
  return new ReadCall(service_, *call, *request);
}

}  // namespace acceld
