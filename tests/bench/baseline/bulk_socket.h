// Bulk bytes over a bare TCP connection on loopback, to and from another process's memory.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tests/bench/baseline/socket_peer.h"

namespace acceld::bench {

class BulkSocket {
 public:
  static absl::StatusOr<BulkSocket> Start();

  // Sends `source`; returns when the other process has all of it.
  absl::Status Upload(absl::Span<const std::byte> source);
  // Receives as many bytes of the other process's as `target` takes.
  absl::Status Download(absl::Span<std::byte> target);

 private:
  explicit BulkSocket(std::unique_ptr<SocketPeer> peer) : peer_(std::move(peer)) {}

  std::unique_ptr<SocketPeer> peer_;
};

}  // namespace acceld::bench
