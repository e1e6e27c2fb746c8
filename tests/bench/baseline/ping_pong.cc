#include "tests/bench/baseline/ping_pong.h"

#include <array>

#include "backends/core/status.h"

namespace acceld::bench {
namespace {

using Message = std::array<std::byte, 64>;

void Echo(int socket) {
  Message message;
  while (ReceiveAll(socket, absl::MakeSpan(message), message.size()).ok() &&
         SendAll(socket, message, message.size()).ok()) {
  }
}

}  // namespace

absl::StatusOr<PingPong> PingPong::Start(SocketKind kind, int core) {
  ACCELD_ASSIGN_OR_RETURN(auto peer, SocketPeer::Start(kind, core, Echo));
  return PingPong(std::move(peer));
}

absl::Status PingPong::RoundTrip() {
  Message message = {};
  ACCELD_RETURN_IF_ERROR(SendAll(peer_->socket(), message, message.size()));
  return ReceiveAll(peer_->socket(), absl::MakeSpan(message), message.size());
}

}  // namespace acceld::bench
