#include "tests/bench/baseline/socket_peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "backends/core/status.h"
#include "tests/bench/harness/cores.h"

namespace acceld::bench {
namespace {

using Ends = std::array<UniqueFd, 2>;

absl::Status SocketError() { return absl::ErrnoToStatus(errno, "There is no socket."); }

absl::StatusOr<Ends> UnixPair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return SocketError();
  return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

absl::StatusOr<Ends> TcpPair() {
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  UniqueFd connected(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // Port 0: the system chooses.
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener.get(), generic, size) != 0 || listen(listener.get(), 1) != 0 ||
      getsockname(listener.get(), generic, &size) != 0 ||
      connect(connected.get(), generic, size) != 0) {
    return SocketError();
  }
  UniqueFd accepted(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!accepted.valid()) return SocketError();
  const int on = 1;
  for (const UniqueFd* end : {&connected, &accepted}) {
    if (setsockopt(end->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) return SocketError();
  }
  return Ends{std::move(connected), std::move(accepted)};
}

absl::Status Closed() { return absl::UnavailableError("The other end of the socket is closed."); }

}  // namespace

absl::StatusOr<std::unique_ptr<SocketPeer>> SocketPeer::Start(SocketKind kind,
                                                              std::optional<int> core,
                                                              void (*body)(int socket)) {
  ACCELD_ASSIGN_OR_RETURN(Ends ends, kind == SocketKind::kUnix ? UnixPair() : TcpPair());
  const pid_t child = fork();
  if (child < 0) return absl::ErrnoToStatus(errno, "There is no process.");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ends[0].Reset();
    if (core.has_value() && !PinToCore(*core).ok()) std::_Exit(EXIT_FAILURE);
    body(ends[1].get());
    std::_Exit(EXIT_SUCCESS);
  }
  return std::unique_ptr<SocketPeer>(new SocketPeer(std::move(ends[0]), child));
}

SocketPeer::~SocketPeer() {
  socket_.Reset();
  waitpid(child_, nullptr, 0);
}

absl::Status SendAll(int socket, absl::Span<const std::byte> data, std::size_t call_bytes) {
  while (!data.empty()) {
    const ssize_t sent = send(socket, data.data(), std::min(data.size(), call_bytes), MSG_NOSIGNAL);
    if (sent <= 0) return Closed();
    data.remove_prefix(static_cast<std::size_t>(sent));
  }
  return absl::OkStatus();
}

absl::Status ReceiveAll(int socket, absl::Span<std::byte> data, std::size_t call_bytes) {
  while (!data.empty()) {
    const ssize_t received = recv(socket, data.data(), std::min(data.size(), call_bytes), 0);
    if (received <= 0) return Closed();
    data.remove_prefix(static_cast<std::size_t>(received));
  }
  return absl::OkStatus();
}

}  // namespace acceld::bench
