// A gRPC connection to the daemon at an endpoint.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "acceld/v1/compute.pb.h"
#include "client/endpoint.h"
#include "grpcpp/channel.h"

namespace acceld {

// A daemon that has answered.
struct GrpcConnection {
  Endpoint endpoint;
  std::shared_ptr<grpc::Channel> channel;
  v1::ServerInfo info;
};

// Connects to the daemon at `endpoint`, or where the defaults of Connect say, and asks it what it
// is. The errors are those of Connect.
absl::StatusOr<GrpcConnection> ConnectGrpc(std::string_view endpoint, absl::Duration timeout);

}  // namespace acceld
