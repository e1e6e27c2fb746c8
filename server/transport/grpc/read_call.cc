#include "server/transport/grpc/read_call.h"

#include <algorithm>

#include "backends/core/status.h"
#include "proto/wire/bulk_wire.h"
#include "proto/wire/grpc_bytes.h"
#include "proto/wire/grpc_status.h"

namespace acceld {

ReadCall::ReadCall(const ServiceContext& service, grpc::CallbackServerContext& call,
                   const grpc::ByteBuffer& request) {
  if (absl::Status attached = Attach(service, call, request); !attached.ok()) {
    Finish(ToGrpcStatus(attached));
  } else {
    ReadChunk();
  }
}

absl::Status ReadCall::Attach(const ServiceContext& service,
                              const grpc::CallbackServerContext& call,
                              const grpc::ByteBuffer& message) {
  v1::ReadRequest request;
  ACCELD_RETURN_IF_ERROR(Parse(message, request));
  stream_ = Stream{request.stream()};
  source_ = request.source();
  remaining_bytes_ = request.size_bytes();
  ACCELD_ASSIGN_OR_RETURN(session_, FindSession(service, call, request.session_secret()));
  ACCELD_RETURN_IF_ERROR(session_->CheckRange(source_, remaining_bytes_, "The source"));
  ACCELD_ASSIGN_OR_RETURN(held_, HeldBytes::Take(session_, session_->limits().read_bytes));
  return absl::OkStatus();
}

void ReadCall::OnWriteDone(bool ok) {
  if (!ok) return Finish(grpc::Status::CANCELLED);
  ReadChunk();
}

void ReadCall::ReadChunk() {
  if (remaining_bytes_ == 0) return Finish(grpc::Status::OK);
  session_->Touch();
  const std::uint64_t bytes = std::min(remaining_bytes_, session_->limits().read_bytes);
  const command::Read read{.source = source_, .size_bytes = bytes, .keep_error = false};
  source_ += bytes;
  remaining_bytes_ -= bytes;
  session_->Submit({.stream = stream_, .action = read}, [this](CommandResult result) {
    if (!result.status.ok()) return Finish(ToGrpcStatus(result.status));
    std::string& data = std::get<std::string>(result.value);
    const std::string prefix = ReadResponsePrefix(data.size());
    response_ = ToByteBuffer(prefix, ToSlice(std::move(data)));
    StartWrite(&response_);
  });
}

}  // namespace acceld
