#include "server/transport/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "server/transport/socket_address.h"

// Linux 6.5 and later; Debian 12's headers are older.
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace acceld {

std::string Peer::Identity() const {
  if (kind == Kind::kUnix) return fmt::format("uid:{}", uid);
  const bool is_ipv6 = address.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("tcp:[{}]", address) : fmt::format("tcp:{}", address);
}

bool SameIdentity(const Peer& a, const Peer& b) {
  if (a.kind != b.kind) return false;
  return a.kind == Peer::Kind::kUnix ? a.uid == b.uid : a.address == b.address;
}

absl::StatusOr<Peer> PeerOf(int socket_fd) {
  SocketAddress address;
  if (getpeername(socket_fd, address.data(), address.length()) != 0) {
    return absl::ErrnoToStatus(errno, "Cannot tell who is at the other end of a connection");
  }
  Peer peer;
  if (!address.is_unix()) {
    peer.address = address.Host();
    peer.port = address.Port();
    return peer;
  }
  peer.kind = Peer::Kind::kUnix;
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return absl::ErrnoToStatus(errno, "Cannot read the credentials of a connection's peer");
  }
  peer.uid = credentials.uid;
  peer.gid = credentials.gid;
  peer.pid = credentials.pid;
  return peer;
}

absl::StatusOr<UniqueFd> WatchPeerProcess(int socket_fd, const Peer& peer) {
  if (peer.kind != Peer::Kind::kUnix) return UniqueFd();
  const auto gone = [&peer] {
    return absl::NotFoundError(
        fmt::format("Process {}, which opened the connection, has ended.", peer.pid));
  };
  // Preferred, since the number of a process that ended may by now be that of another one.
  int fd = -1;
  socklen_t length = sizeof(fd);
  if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &length) == 0) return UniqueFd(fd);
  if (errno == EINVAL || errno == ESRCH) return gone();
  if (errno == ENOPROTOOPT && peer.pid > 0) {
    fd = static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0));
    if (fd >= 0) return UniqueFd(fd);
    if (errno == ESRCH) return gone();
  }
  if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
    return absl::ErrnoToStatus(errno, "Cannot watch the process of a connection");
  }
  return UniqueFd();
}

}  // namespace acceld
