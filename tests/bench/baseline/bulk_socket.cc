#include "tests/bench/baseline/bulk_socket.h"

#include <cstdint>
#include <vector>

#include "backends/core/status.h"

namespace acceld::bench {
namespace {

// What one system call sends or receives at most.
constexpr std::size_t kCallBytes = 1 << 20;

// Goes ahead of the bytes.
struct Request {
  bool upload = false;
  std::uint64_t size_bytes = 0;
};

template <typename T>
absl::Span<std::byte> BytesOf(T& value) {
  return {reinterpret_cast<std::byte*>(&value), sizeof value};
}

void Serve(int socket) {
  std::vector<std::byte> memory;
  Request request;
  while (ReceiveAll(socket, BytesOf(request), kCallBytes).ok()) {
    memory.resize(request.size_bytes);
    if (request.upload) {
      std::byte done{};
      if (!ReceiveAll(socket, absl::MakeSpan(memory), kCallBytes).ok() ||
          !SendAll(socket, BytesOf(done), 1).ok()) {
        return;
      }
    } else if (!SendAll(socket, memory, kCallBytes).ok()) {
      return;
    }
  }
}

}  // namespace

absl::StatusOr<BulkSocket> BulkSocket::Start() {
  ACCELD_ASSIGN_OR_RETURN(auto peer, SocketPeer::Start(SocketKind::kTcp, std::nullopt, Serve));
  return BulkSocket(std::move(peer));
}

absl::Status BulkSocket::Upload(absl::Span<const std::byte> source) {
  Request request = {.upload = true, .size_bytes = source.size()};
  ACCELD_RETURN_IF_ERROR(SendAll(peer_->socket(), BytesOf(request), kCallBytes));
  ACCELD_RETURN_IF_ERROR(SendAll(peer_->socket(), source, kCallBytes));
  std::byte done{};
  return ReceiveAll(peer_->socket(), BytesOf(done), 1);
}

absl::Status BulkSocket::Download(absl::Span<std::byte> target) {
  Request request = {.upload = false, .size_bytes = target.size()};
  ACCELD_RETURN_IF_ERROR(SendAll(peer_->socket(), BytesOf(request), kCallBytes));
  return ReceiveAll(peer_->socket(), target, kCallBytes);
}

}  // namespace acceld::bench
