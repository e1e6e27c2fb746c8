#include "proto/wire/grpc_bytes.h"

#include <utility>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "grpcpp/support/proto_buffer_reader.h"

namespace acceld {

Pieces PiecesOf(const grpc::ByteBuffer& buffer) {
  Pieces pieces;
  // The reader changes nothing in the buffer, though it takes it as if it did.
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&buffer));
  const void* data = nullptr;
  int bytes = 0;
  while (reader.Next(&data, &bytes)) {
    pieces.emplace_back(static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes));
  }
  return pieces;
}

absl::Status Parse(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite& message) {
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&buffer));
  if (message.ParseFromZeroCopyStream(&reader) && reader.status().ok()) return absl::OkStatus();
  return InvalidArgument(fmt::format("A message of {} bytes is no {}.", buffer.Length(),
                                     std::string_view(message.GetTypeName())));
}

grpc::ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& message) {
  const std::size_t bytes = message.ByteSizeLong();
  grpc::Slice slice(bytes);
  message.SerializeWithCachedSizesToArray(const_cast<std::uint8_t*>(slice.begin()));
  return grpc::ByteBuffer(&slice, 1);
}

grpc::Slice ToSlice(std::string bytes) {
  auto* kept = new std::string(std::move(bytes));
  return grpc::Slice(
      kept->data(), kept->size(), [](void* data) { delete static_cast<std::string*>(data); }, kept);
}

grpc::ByteBuffer ToByteBuffer(const std::string& prefix, grpc::Slice data) {
  const grpc::Slice slices[] = {grpc::Slice(prefix), std::move(data)};
  return grpc::ByteBuffer(slices, 2);
}

}  // namespace acceld
