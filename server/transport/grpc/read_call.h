// One Read call: bytes that leave in chunks, each of which is a read command of its own. They leave
// from where the device has copied them to, without a further copy.
#pragma once

#include <cstdint>
#include <memory>

#include "acceld/v1/compute.pb.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/transport/grpc/caller.h"
#include "server/transport/grpc/held_bytes.h"

namespace acceld {

class ReadCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  // The reactor of a new call; it deletes itself.
  ReadCall(const ServiceContext& service, grpc::CallbackServerContext& call,
           const grpc::ByteBuffer& request);

 private:
  void OnWriteDone(bool ok) override;
  void OnDone() override { delete this; }

  absl::Status Attach(const ServiceContext& service, const grpc::CallbackServerContext& call,
                      const grpc::ByteBuffer& message);
  // Submits the read of the next chunk; it is sent when it is there.
  void ReadChunk();

  std::shared_ptr<Session> session_;
  // One chunk, read and on its way.
  HeldBytes held_;
  Stream stream_{0};
  Address source_ = 0;
  std::uint64_t remaining_bytes_ = 0;
  grpc::ByteBuffer response_;
};

}  // namespace acceld
