// acceld.v1.Compute over gRPC: starts each call's handler. No handler blocks.
#pragma once

#include "acceld/v1/compute.grpc.pb.h"
#include "server/transport/grpc/caller.h"

namespace acceld {

// The calls that carry bulk bytes see their messages as gRPC's buffers, the others as protobuf's.
template <typename Service>
using BulkMethods = v1::Compute::WithRawCallbackMethod_Submit<
    v1::Compute::WithRawCallbackMethod_Write<v1::Compute::WithRawCallbackMethod_Read<Service>>>;
template <typename Service>
using PlainMethods =
    v1::Compute::WithCallbackMethod_GetServerInfo<v1::Compute::WithCallbackMethod_OpenSession<
        v1::Compute::WithCallbackMethod_AttachSession<v1::Compute::WithCallbackMethod_CloseSession<
            v1::Compute::WithCallbackMethod_Execute<Service>>>>>;

class ComputeService final : public PlainMethods<BulkMethods<v1::Compute::Service>> {
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
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Submit(
      grpc::CallbackServerContext* call) override;
  grpc::ServerReadReactor<grpc::ByteBuffer>* Write(grpc::CallbackServerContext* call,
                                                   grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Read(grpc::CallbackServerContext* call,
                                                   const grpc::ByteBuffer* request) override;

 private:
  absl::Status Open(const grpc::CallbackServerContext& call, const v1::OpenSessionRequest& request,
                    v1::Session& response);

  const ServiceContext& service_;
};

}  // namespace acceld
