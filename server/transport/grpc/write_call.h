// One Write call: bytes that arrive in chunks, each of which is written in the stream's order. They
// go to the device from where gRPC has read them, without a copy.
#pragma once

#include <cstdint>
#include <memory>

#include "acceld/v1/compute.pb.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "proto/wire/bulk_wire.h"
#include "server/transport/grpc/caller.h"
#include "server/transport/grpc/held_bytes.h"

namespace acceld {

class WriteCall final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  // The reactor of a new call; it deletes itself.
  WriteCall(const ServiceContext& service, grpc::CallbackServerContext& call,
            grpc::ByteBuffer& response);

 private:
  void OnReadDone(bool ok) override;
  void OnDone() override { delete this; }

  // Takes the message that was read, and starts to read the next, now or when this one is written.
  absl::Status TakeMessage();
  absl::Status TakeHeader(const v1::WriteRequest& request);
  // Submits a chunk that `owner` keeps; what follows it is read when it is written.
  absl::Status WriteChunk(const Pieces& data, std::shared_ptr<const void> owner);

  const ServiceContext& service_;
  grpc::CallbackServerContext& call_;
  grpc::ByteBuffer& response_;
  grpc::ByteBuffer request_;
  std::shared_ptr<Session> session_;
  // One message.
  HeldBytes held_;
  Stream stream_{0};
  Address target_ = 0;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t received_bytes_ = 0;
};

}  // namespace acceld
