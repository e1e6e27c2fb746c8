// Another process at the other end of a bare socket: what any transport over that socket is
// measured against.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/core/unique_fd.h"

namespace acceld::bench {

enum class SocketKind {
  kUnix,
  // Over loopback, without Nagle's algorithm.
  kTcp,
};

class SocketPeer {
 public:
  // Runs `body` on the other end in a child process, on `core` where one is given. It returns when
  // its socket is closed.
  static absl::StatusOr<std::unique_ptr<SocketPeer>> Start(SocketKind kind, std::optional<int> core,
                                                           void (*body)(int socket));
  // Closes the socket and waits for the child.
  ~SocketPeer();

  int socket() const { return socket_.get(); }

 private:
  SocketPeer(UniqueFd socket, pid_t child) : socket_(std::move(socket)), child_(child) {}

  UniqueFd socket_;
  const pid_t child_;
};

// Sends or receives all of `data`, at most `call_bytes` a system call. kUnavailable where the other
// end closes first.
absl::Status SendAll(int socket, absl::Span<const std::byte> data, std::size_t call_bytes);
absl::Status ReceiveAll(int socket, absl::Span<std::byte> data, std::size_t call_bytes);

}  // namespace acceld::bench
