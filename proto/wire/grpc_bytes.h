// Messages in gRPC's buffers: grpc::ByteBuffer to protobuf or to plain bytes, and back.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "proto/wire/bulk_wire.h"

namespace acceld {

// The bytes of `buffer`, which keeps them.
Pieces PiecesOf(const grpc::ByteBuffer& buffer);

// Sets `message` to what `buffer` holds; an invalid argument where that is no such message.
absl::Status Parse(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite& message);

grpc::ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& message);

// A slice that keeps `bytes`.
grpc::Slice ToSlice(std::string bytes);

// `prefix` and then `data`, which is not copied.
grpc::ByteBuffer ToByteBuffer(const std::string& prefix, grpc::Slice data);

}  // namespace acceld
