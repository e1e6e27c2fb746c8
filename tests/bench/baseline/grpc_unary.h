// The plainest way to run a command over gRPC: a unary Execute call with one empty command.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "acceld/v1/compute.grpc.pb.h"

namespace acceld::bench {

class GrpcUnary {
 public:
  // Opens a session on the daemon at `endpoint`, `unix:/path` or `host:port`.
  static absl::StatusOr<GrpcUnary> Start(std::string_view endpoint);

  // One call and its answer.
  absl::Status RoundTrip();

 private:
  GrpcUnary(std::unique_ptr<v1::Compute::Stub> stub, std::string secret);

  std::unique_ptr<v1::Compute::Stub> stub_;
  v1::ExecuteRequest request_;
};

}  // namespace acceld::bench
