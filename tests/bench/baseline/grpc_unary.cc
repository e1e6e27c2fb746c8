#include "tests/bench/baseline/grpc_unary.h"

#include <utility>

#include "backends/core/status.h"
#include "client/grpc_connection.h"
#include "grpcpp/client_context.h"
#include "proto/wire/grpc_status.h"

namespace acceld::bench {

GrpcUnary::GrpcUnary(std::unique_ptr<v1::Compute::Stub> stub, std::string secret)
    : stub_(std::move(stub)) {
  request_.set_session_secret(std::move(secret));
  request_.add_commands()->mutable_no_op();
}

absl::StatusOr<GrpcUnary> GrpcUnary::Start(std::string_view endpoint) {
  ACCELD_ASSIGN_OR_RETURN(const GrpcConnection connection,
                          ConnectGrpc(endpoint, absl::Seconds(10)));
  std::unique_ptr<v1::Compute::Stub> stub = v1::Compute::NewStub(connection.channel);
  grpc::ClientContext context;
  v1::Session session;
  ACCELD_RETURN_IF_ERROR(FromGrpcStatus(stub->OpenSession(&context, {}, &session)));
  return GrpcUnary(std::move(stub), session.secret());
}

absl::Status GrpcUnary::RoundTrip() {
  grpc::ClientContext context;
  v1::ExecuteResponse response;
  ACCELD_RETURN_IF_ERROR(FromGrpcStatus(stub_->Execute(&context, request_, &response)));
  if (response.results().empty()) return absl::OkStatus();
  return DeviceError("An empty command has a result.");
}

}  // namespace acceld::bench
