// One Write call: bytes that arrive in chunks, each of which is a write command of its own.
#pragma once

#include <cstdint>
#include <memory>

#include "acceld/v1/compute.pb.h"
#include "grpcpp/support/server_callback.h"
#include "server/transport/grpc/caller.h"
#include "server/transport/grpc/held_bytes.h"

namespace acceld {

class WriteCall final : public grpc::ServerReadReactor<v1::WriteRequest> {
 public:
  // The reactor of a new call; it deletes itself.
  WriteCall(const ServiceContext& service, grpc::CallbackServerContext& call,
            v1::WriteResponse& response);

 private:
  void OnReadDone(bool ok) override;
  void OnDone() override { delete this; }

  absl::Status TakeHeader();
  // Submits the chunk that was read; what follows it is read when it is written.
  void WriteChunk();

  const ServiceContext& service_;
  grpc::CallbackServerContext& call_;
  v1::WriteResponse& response_;
  v1::WriteRequest request_;
  std::shared_ptr<Session> session_;
  // One message.
  HeldBytes held_;
  Stream stream_{0};
  Address target_ = 0;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t received_bytes_ = 0;
};

}  // namespace acceld
