// acceld.v1.Admin over gRPC.
#pragma once

#include <functional>

#include "acceld/v1/compute.grpc.pb.h"
#include "server/transport/grpc/caller.h"

namespace acceld {

class AdminService final : public v1::Admin::CallbackService {
 public:
  // `is_admin` tells who may do everything; `drain` begins to drain the daemon.
  AdminService(const ServiceContext& service, std::function<bool(const Peer&)> is_admin,
               std::function<void()> drain)
      : service_(service), is_admin_(std::move(is_admin)), drain_(std::move(drain)) {}

  grpc::ServerUnaryReactor* ListSessions(grpc::CallbackServerContext* call,
                                         const v1::ListSessionsRequest* request,
                                         v1::ListSessionsResponse* response) override;
  grpc::ServerUnaryReactor* EndSession(grpc::CallbackServerContext* call,
                                       const v1::EndSessionRequest* request,
                                       v1::EndSessionResponse* response) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* call,
                                  const v1::DrainRequest* request,
                                  v1::DrainResponse* response) override;

 private:
  absl::Status List(const grpc::CallbackServerContext& call, v1::ListSessionsResponse& response);
  absl::Status End(const grpc::CallbackServerContext& call, std::uint64_t id);
  absl::Status BeginDrain(const grpc::CallbackServerContext& call, v1::DrainResponse& response);

  const ServiceContext& service_;
  const std::function<bool(const Peer&)> is_admin_;
  const std::function<void()> drain_;
};

}  // namespace acceld
