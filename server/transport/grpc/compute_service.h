// acceld.v1.Compute over gRPC: starts each call's handler. No handler blocks.
#pragma once

#include "acceld/v1/compute.grpc.pb.h"
#include "server/transport/grpc/caller.h"

namespace acceld {

class ComputeService final : public v1::Compute::CallbackService {
 public:
  explicit ComputeService(const ServiceContext& service) : service_(service) {}

  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* call,
                                          const v1::GetServerInfoRequest* request,
                                          v1::ServerInfo* response) override;
  grpc::ServerUnaryReactor* OpenSession(grpc::CallbackServerContext* call,
                                        const v1::OpenSessionRequest* request,
                                        v1::Session* response) override;
  grpc::ServerWriteReactor<v1::AttachSessionResponse>* AttachSession(
      grpc::CallbackServerContext* call, const v1::AttachSessionRequest* request) override;
  grpc::ServerUnaryReactor* CloseSession(grpc::CallbackServerContext* call,
                                         const v1::CloseSessionRequest* request,
                                         v1::CloseSessionResponse* response) override;
  grpc::ServerUnaryReactor* Execute(grpc::CallbackServerContext* call,
                                    const v1::ExecuteRequest* request,
                                    v1::ExecuteResponse* response) override;
  grpc::ServerBidiReactor<v1::SubmitRequest, v1::SubmitResponse>* Submit(
      grpc::CallbackServerContext* call) override;
  grpc::ServerReadReactor<v1::WriteRequest>* Write(grpc::CallbackServerContext* call,
                                                   v1::WriteResponse* response) override;
  grpc::ServerWriteReactor<v1::ReadResponse>* Read(grpc::CallbackServerContext* call,
                                                   const v1::ReadRequest* request) override;

 private:
  absl::Status Open(const grpc::CallbackServerContext& call, const v1::OpenSessionRequest& request,
                    v1::Session& response);

  const ServiceContext& service_;
};

}  // namespace acceld
