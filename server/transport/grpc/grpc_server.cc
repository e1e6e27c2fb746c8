#include "server/transport/grpc/grpc_server.h"

#include "backends/core/status.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/server_posix.h"

namespace acceld {
namespace {

// What all messages in gRPC's hands may take together; beyond it, it reads more slowly.
constexpr std::size_t kGrpcMemoryBytes = std::size_t{1} << 30;

// What gRPC reads from a connection at a time. A write whose bytes stay where they were read keeps
// up to two of these more than its own.
constexpr int kReadBytes = 256 << 10;

// A large message is cut into HTTP/2 frames of up to this; the default of 16 KiB costs time for
// each.
constexpr int kHttp2FrameBytes = 1 << 20;

// Calls that one connection may have open at a time.
constexpr int kMaxCallsPerConnection = 256;

// A vanished host is noticed after these two together.
constexpr int kKeepaliveTimeMs = 20'000;
constexpr int kKeepaliveTimeoutMs = 10'000;

// A client that pings more often than this is told "too many pings".
constexpr int kMinClientPingIntervalMs = 5'000;

}  // namespace

GrpcServer::GrpcServer(ServiceContext service, std::function<bool(const Peer&)> is_admin,
                       std::function<void()> drain)
    : service_(service),
      compute_(service_),
      admin_(service_, std::move(is_admin), std::move(drain)) {}

GrpcServer::~GrpcServer() { Shutdown(std::chrono::milliseconds(0)); }

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(
    ServiceContext service, std::function<bool(const Peer&)> is_admin,
    std::function<void()> drain) {
  std::unique_ptr<GrpcServer> server(
      new GrpcServer(service, std::move(is_admin), std::move(drain)));
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.RegisterService(&server->compute_);
  builder.RegisterService(&server->admin_);
  builder.SetMaxReceiveMessageSize(static_cast<int>(service.limits.message_bytes));
  // A small message could inflate to any size, so none may be compressed.
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  builder.SetResourceQuota(grpc::ResourceQuota("acceld").Resize(kGrpcMemoryBytes));
  builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadBytes);
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kHttp2FrameBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveTimeMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinClientPingIntervalMs);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) return DeviceError("gRPC did not start.");
  server->SetServing(true);
  return server;
}

void GrpcServer::Serve(UniqueFd connection) {
  grpc::AddInsecureChannelFromFd(server_.get(), connection.Release());
}

void GrpcServer::SetServing(bool serving) {
  grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
  for (const char* service : {"acceld.v1.Compute", "acceld.v1.Admin"}) {
    health->SetServingStatus(service, serving);
  }
  health->SetServingStatus(serving);
}

void GrpcServer::Shutdown(std::chrono::milliseconds grace) {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + grace);
  server_->Wait();
  server_ = nullptr;
}

}  // namespace acceld
