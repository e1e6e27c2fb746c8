#include "client/accelctl/calls.h"

#include <future>
#include <memory>
#include <utility>

#include "acceld/v1/compute.grpc.pb.h"
#include "backends/core/status.h"
#include "client/grpc_connection.h"
#include "fmt/format.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"
#include "proto/wire/grpc_status.h"

namespace acceld::accelctl {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// An error of a call, with what the user can do where gRPC's own words say little.
absl::Status Explain(const absl::Status& status, const char* method, const Endpoint& endpoint,
                     absl::Duration timeout) {
  const std::string message(status.message());
  switch (status.code()) {
    case absl::StatusCode::kDeadlineExceeded:
      return absl::DeadlineExceededError(
          fmt::format("The daemon at {} has not answered {} within {}. See its log, or wait longer "
                      "with --timeout.",
                      endpoint.text, method, absl::FormatDuration(timeout)));
    case absl::StatusCode::kUnavailable:
      return absl::UnavailableError(
          fmt::format("The connection to the daemon at {} was lost during {}: {}. See its log.",
                      endpoint.text, method, message));
    case absl::StatusCode::kUnimplemented:
      return absl::UnimplementedError(
          fmt::format("The daemon at {} does not know {}. It is of another release than this "
                      "accelctl.",
                      endpoint.text, method));
    default:
      return status;
  }
}

// Connects, and makes the call that `method` is the name of: `call(channel, context, response)`.
template <typename Response, typename MakeCall>
absl::StatusOr<Answer<Response>> Call(const Target& target, const char* method, MakeCall call) {
  ACCELD_ASSIGN_OR_RETURN(const GrpcConnection connection,
                          ConnectGrpc(target.endpoint, target.timeout));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + target.timeout));
  Answer<Response> answer{.endpoint = connection.endpoint.text, .response = {}};
  const absl::Status status = FromGrpcStatus(call(connection.channel, context, &answer.response));
  if (!status.ok()) return Explain(status, method, connection.endpoint, target.timeout);
  return answer;
}

using Channel = std::shared_ptr<grpc::Channel>;

}  // namespace

absl::StatusOr<Answer<v1::ServerInfo>> GetServerInfo(const Target& target) {
  ACCELD_ASSIGN_OR_RETURN(GrpcConnection connection, ConnectGrpc(target.endpoint, target.timeout));
  return Answer<v1::ServerInfo>{.endpoint = std::move(connection.endpoint.text),
                                .response = std::move(connection.info)};
}

absl::StatusOr<Answer<v1::ListSessionsResponse>> ListSessions(const Target& target) {
  return Call<v1::ListSessionsResponse>(
      target, "ListSessions", [](const Channel& channel, grpc::ClientContext& context, auto* out) {
        return v1::Admin::NewStub(channel)->ListSessions(&context, {}, out);
      });
}

absl::StatusOr<Answer<v1::EndSessionResponse>> EndSession(const Target& target, std::uint64_t id) {
  return Call<v1::EndSessionResponse>(
      target, "EndSession", [id](const Channel& channel, grpc::ClientContext& context, auto* out) {
        v1::EndSessionRequest request;
        request.set_id(id);
        return v1::Admin::NewStub(channel)->EndSession(&context, request, out);
      });
}

absl::StatusOr<Answer<v1::DrainResponse>> Drain(const Target& target) {
  return Call<v1::DrainResponse>(
      target, "Drain", [](const Channel& channel, grpc::ClientContext& context, auto* out) {
        return v1::Admin::NewStub(channel)->Drain(&context, {}, out);
      });
}

absl::StatusOr<Answer<HealthCheckResponse>> CheckHealth(const Target& target) {
  return Call<HealthCheckResponse>(
      target, "Health.Check", [](const Channel& channel, grpc::ClientContext& context, auto* out) {
        const HealthCheckRequest request;
        std::promise<grpc::Status> status;
        grpc::TemplatedGenericStub<HealthCheckRequest, HealthCheckResponse> stub(channel);
        stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request, out,
                       [&status](grpc::Status result) { status.set_value(std::move(result)); });
        return status.get_future().get();
      });
}

}  // namespace acceld::accelctl
