#include "server/transport/grpc/write_call.h"

#include "backends/core/status.h"
#include "fmt/format.h"
#include "proto/wire/grpc_status.h"

namespace acceld {

WriteCall::WriteCall(const ServiceContext& service, grpc::CallbackServerContext& call,
                     v1::WriteResponse& response)
    : service_(service), call_(call), response_(response) {
  StartRead(&request_);
}

void WriteCall::OnReadDone(bool ok) {
  if (!ok) {
    if (session_ == nullptr || received_bytes_ != size_bytes_) {
      return Finish(ToGrpcStatus(InvalidArgument(
          fmt::format("The call ended after {} of {} bytes.", received_bytes_, size_bytes_))));
    }
    response_.set_size_bytes(received_bytes_);
    return Finish(grpc::Status::OK);
  }
  if (session_ != nullptr && request_.has_data()) return WriteChunk();
  absl::Status taken = TakeHeader();
  if (!taken.ok()) return Finish(ToGrpcStatus(taken));
  StartRead(&request_);
}

absl::Status WriteCall::TakeHeader() {
  if (session_ != nullptr || !request_.has_header()) {
    return InvalidArgument(
        "A Write call has a header in its first message and data in the others.");
  }
  const v1::WriteHeader& header = request_.header();
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

void WriteCall::WriteChunk() {
  const std::size_t bytes = request_.data().size();
  if (bytes > size_bytes_ - received_bytes_) {
    return Finish(ToGrpcStatus(InvalidArgument(
        fmt::format("The call brings more than the {} bytes its header says.", size_bytes_))));
  }
  session_->Touch();
  // The request stays as it is until the command is done.
  const auto data =
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(request_.data().data()), bytes);
  command::Write write{.target = target_ + received_bytes_, .data = data, .owner = nullptr};
  received_bytes_ += bytes;
  session_->Submit({.stream = stream_, .action = std::move(write)}, [this](CommandResult result) {
    if (!result.status.ok()) return Finish(ToGrpcStatus(result.status));
    StartRead(&request_);
  });
}

}  // namespace acceld
