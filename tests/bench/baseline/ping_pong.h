// A ping-pong of 64 bytes over a bare socket between two processes, each on a core of its own.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/bench/baseline/socket_peer.h"

namespace acceld::bench {

class PingPong {
 public:
  // The other process runs on `core`.
  static absl::StatusOr<PingPong> Start(SocketKind kind, int core);

  // There and back, once.
  absl::Status RoundTrip();

 private:
  explicit PingPong(std::unique_ptr<SocketPeer> peer) : peer_(std::move(peer)) {}

  std::unique_ptr<SocketPeer> peer_;
};

}  // namespace acceld::bench
