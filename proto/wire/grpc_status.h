// Errors of whole RPCs: absl::Status to grpc::Status and back. The reason travels as gRPC's usual
// "rich error model": the trailer grpc-status-details-bin holds a google.rpc.Status with a
// google.rpc.ErrorInfo, which other languages' gRPC tools decode.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace acceld {

// The message travels twice in the trailers, once percent-encoded (up to three times as long) and
// once in base64, and peers accept 8 KiB of trailers in all by default.
inline constexpr std::size_t kMaxGrpcMessageBytes = 1024;

grpc::Status ToGrpcStatus(const absl::Status& status);

// Details that are malformed or foreign are left out.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace acceld
