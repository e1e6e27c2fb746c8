#include "proto/wire/grpc_status.h"

#include <string>

#include "acceld/internal/google_rpc_status.pb.h"
#include "acceld/v1/status.pb.h"
#include "proto/wire/status_wire.h"
#include "proto/wire/utf8.h"

namespace acceld {
namespace {

// acceld.v1.ErrorInfo has google.rpc.ErrorInfo's fields, so its bytes are one.
constexpr char kErrorInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const int code = static_cast<int>(status.code());
  const std::string message =
      BoundedUtf8({status.message().data(), status.message().size()}, kMaxGrpcMessageBytes);

  // Tools refuse details whose code and message differ from the call's.
  internal::GoogleRpcStatus details;
  details.set_code(code);
  details.set_message(message);
  v1::ErrorInfo info;
  if (ErrorInfoToWire(status, info)) {
    auto& any = *details.add_details();
    any.set_type_url(kErrorInfoUrl);
    any.set_value(info.SerializeAsString());
  }
  return grpc::Status(static_cast<grpc::StatusCode>(code), message, details.SerializeAsString());
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  absl::Status result = StatusFromWire(status.error_code(), status.error_message());
  internal::GoogleRpcStatus details;
  if (!details.ParseFromString(status.error_details())) return result;
  for (const auto& any : details.details()) {
    v1::ErrorInfo info;
    if (any.type_url() == kErrorInfoUrl && info.ParseFromString(any.value())) {
      return WithErrorInfo(std::move(result), info);
    }
  }
  return result;
}

}  // namespace acceld
