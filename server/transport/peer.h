// Who is at the other end of a connection, as the kernel tells it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "backends/core/unique_fd.h"

namespace acceld {

struct Peer {
  enum class Kind : std::uint8_t { kUnix, kTcp };

  // A user or group that is not known, that of every TCP peer; never 0, which is root.
  static constexpr uid_t kNoUser = static_cast<uid_t>(-1);
  static constexpr gid_t kNoGroup = static_cast<gid_t>(-1);

  Kind kind = Kind::kTcp;

  // Of the process that connected to the Unix socket, whoever uses the connection now. `pid` is 0
  // for TCP and for a process of another pid namespace.
  uid_t uid = kNoUser;
  gid_t gid = kNoGroup;
  pid_t pid = 0;

  // Of a TCP peer: its numeric address, such as "127.0.0.1" or "::1", and port.
  std::string address;
  std::uint16_t port = 0;

  // Unique among the connections of one daemon; 0 until the acceptor sets it.
  std::uint64_t connection_id = 0;

  // Whom resources are accounted to and who may name a session: "uid:1000", "tcp:127.0.0.1",
  // "tcp:[::1]". All connections of a user, or of a host, have the same.
  std::string Identity() const;
};

// Whether two connections belong to the same identity.
bool SameIdentity(const Peer& a, const Peer& b);

// The peer of a connected stream socket. An error where the connection is already gone.
absl::StatusOr<Peer> PeerOf(int socket_fd);

// A descriptor that becomes readable when the process that opened the connection ends (a pidfd).
// An invalid one where there is no process to watch: TCP, or a kernel that cannot name the process.
// kNotFound where the process has ended already.
absl::StatusOr<UniqueFd> WatchPeerProcess(int socket_fd, const Peer& peer);

}  // namespace acceld
