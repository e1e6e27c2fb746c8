#include "client/grpc_connection.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <vector>

#include "acceld/v1/compute.grpc.pb.h"
#include "backends/core/status.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "grpcpp/create_channel.h"
#include "proto/wire/grpc_status.h"

namespace acceld {
namespace {

// A vanished daemon is noticed after these two together.
constexpr int kKeepaliveTimeMs = 20'000;
constexpr int kKeepaliveTimeoutMs = 10'000;

// What gRPC reads at a time.
constexpr int kReadBytes = 256 << 10;

// As the daemon's: large messages in few HTTP/2 frames.
constexpr int kHttp2FrameBytes = 1 << 20;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveTimeMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A connection of its own, with which the session lives and ends.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadBytes);
  arguments.SetInt(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadBytes);
  // No call can be repeated, so messages need not be kept for it once they have left.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kHttp2FrameBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, kHttp2FrameBytes);
  arguments.SetMaxReceiveMessageSize(INT_MAX);
  return arguments;
}

absl::StatusOr<GrpcConnection> TryConnect(std::string_view text, absl::Duration timeout) {
  GrpcConnection connection;
  ACCELD_ASSIGN_OR_RETURN(connection.endpoint, ParseEndpoint(text));
  connection.channel = grpc::CreateCustomChannel(connection.endpoint.grpc_target,
                                                 grpc::InsecureChannelCredentials(), Arguments());
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  const auto stub = v1::Compute::NewStub(connection.channel);
  ACCELD_RETURN_IF_ERROR(FromGrpcStatus(stub->GetServerInfo(&context, {}, &connection.info)));
  return connection;
}

std::string HowToStart() {
  return "Start one with `acceld`, or name another with ACCELD_ENDPOINT or an endpoint such as "
         "unix:/path or host:port.";
}

}  // namespace

absl::StatusOr<GrpcConnection> ConnectGrpc(std::string_view endpoint, absl::Duration timeout) {
  std::vector<Candidate> candidates;
  if (endpoint.empty()) {
    candidates = DefaultEndpoints(std::getenv("ACCELD_ENDPOINT"), std::getenv("XDG_RUNTIME_DIR"));
  } else {
    candidates.push_back({.endpoint = std::string(endpoint), .origin = "the given endpoint"});
  }
  std::vector<std::string> tried;
  for (const Candidate& candidate : candidates) {
    absl::StatusOr<GrpcConnection> connection = TryConnect(candidate.endpoint, timeout);
    // A daemon that answers with an error, and an endpoint that is none, are not passed over.
    const absl::StatusCode code = connection.status().code();
    if (code == absl::StatusCode::kInvalidArgument) {
      const auto message = connection.status().message();
      return InvalidArgument(fmt::format(
          "{} (from {})", std::string_view(message.data(), message.size()), candidate.origin));
    }
    if (code != absl::StatusCode::kUnavailable && code != absl::StatusCode::kDeadlineExceeded) {
      return connection;
    }
    const auto message = connection.status().message();
    tried.push_back(fmt::format("{} ({}): {}", candidate.endpoint, candidate.origin,
                                std::string_view(message.data(), message.size())));
  }
  return WithReason(absl::UnavailableError(fmt::format("No acceld daemon answers. Tried {}. {}",
                                                       fmt::join(tried, "; "), HowToStart())),
                    reason::kConnectionLost);
}

}  // namespace acceld
