// The gRPC server: serves the connections it is given; it opens no socket itself.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "backends/core/unique_fd.h"
#include "grpcpp/server.h"
#include "server/transport/grpc/admin_service.h"
#include "server/transport/grpc/caller.h"
#include "server/transport/grpc/compute_service.h"

namespace acceld {

// Thread-safe.
class GrpcServer {
 public:
  // With health (all services, and the server as a whole, SERVING) and reflection. See AdminService
  // about the callbacks.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(
      ServiceContext service, std::function<bool(const Peer&)> is_admin,
      std::function<void()> drain);
  ~GrpcServer();

  // Serves an accepted, non-blocking socket.
  void Serve(UniqueFd connection);

  // What health says of every service from now on.
  void SetServing(bool serving);

  // Ends: calls that are not over after `grace` are cancelled.
  void Shutdown(std::chrono::milliseconds grace);

 private:
  GrpcServer(ServiceContext service, std::function<bool(const Peer&)> is_admin,
             std::function<void()> drain);

  const ServiceContext service_;
  ComputeService compute_;
  AdminService admin_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace acceld
