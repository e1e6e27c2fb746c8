#include "server/transport/grpc/write_call.h"

#include <string>
#include <utility>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "proto/wire/grpc_bytes.h"
#include "proto/wire/grpc_status.h"
#include "server/transport/grpc/bulk_write.h"

namespace acceld {

WriteCall::WriteCall(const ServiceContext& service, grpc::CallbackServerContext& call,
                     grpc::ByteBuffer& response)
    : service_(service), call_(call), response_(response) {
  StartRead(&request_);
}

void WriteCall::OnReadDone(bool ok) {
  if (!ok) {
    if (session_ == nullptr || received_bytes_ != size_bytes_) {
      return Finish(ToGrpcStatus(InvalidArgument(
          fmt::format("The call ended after {} of {} bytes.", received_bytes_, size_bytes_))));
    }
    v1::WriteResponse response;
    response.set_size_bytes(received_bytes_);
    response_ = ToByteBuffer(response);
    return Finish(grpc::Status::OK);
  }
  if (absl::Status taken = TakeMessage(); !taken.ok()) Finish(ToGrpcStatus(taken));
}

absl::Status WriteCall::TakeMessage() {
  auto message = std::make_shared<grpc::ByteBuffer>();
  message->Swap(&request_);
  if (session_ != nullptr) {
    const std::optional<Pieces> data = FindWriteData(PiecesOf(*message));
    if (data.has_value()) return WriteChunk(*data, std::move(message));
  }
  v1::WriteRequest request;
  ACCELD_RETURN_IF_ERROR(Parse(*message, request));
  if (session_ == nullptr || !request.has_data()) {
    ACCELD_RETURN_IF_ERROR(TakeHeader(request));
    StartRead(&request_);
    return absl::OkStatus();
  }
  const auto data = std::make_shared<std::string>(std::move(*request.mutable_data()));
  return WriteChunk(
      {absl::MakeConstSpan(reinterpret_cast<const std::byte*>(data->data()), data->size())}, data);
}

absl::Status WriteCall::TakeHeader(const v1::WriteRequest& request) {
  if (session_ != nullptr || !request.has_header()) {
    return InvalidArgument(
        "A Write call has a header in its first message and data in the others.");
  }
  const v1::WriteHeader& header = request.header();
  ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<Session> session,
                          FindSession(service_, call_, header.session_secret()));
  ACCELD_RETURN_IF_ERROR(session->CheckRange(header.target(), header.size_bytes(), "The target"));
  ACCELD_ASSIGN_OR_RETURN(held_, HeldBytes::Take(session, session->limits().message_bytes));
  session_ = std::move(session);
  stream_ = Stream{header.stream()};
  target_ = header.target();
  size_bytes_ = header.size_bytes();
  return absl::OkStatus();
}

absl::Status WriteCall::WriteChunk(const Pieces& data, std::shared_ptr<const void> owner) {
  const std::uint64_t bytes = TotalBytes(data);
  if (bytes > size_bytes_ - received_bytes_) {
    return InvalidArgument(
        fmt::format("The call brings more than the {} bytes its header says.", size_bytes_));
  }
  session_->Touch();
  const Address target = target_ + received_bytes_;
  received_bytes_ += bytes;
  SubmitBulkWrite(*session_, stream_, target, data, std::move(owner), [this](CommandResult result) {
    if (!result.status.ok()) return Finish(ToGrpcStatus(result.status));
    StartRead(&request_);
  });
  return absl::OkStatus();
}

}  // namespace acceld
