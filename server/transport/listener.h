// The sockets that the daemon listens on: a Unix socket, TCP on loopback, or what systemd passed.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/core/unique_fd.h"
#include "server/transport/listener_socket_file.h"

namespace acceld {

// A listening stream socket, non-blocking and closed on exec. Movable.
class Listener {
 public:
  enum class Kind : std::uint8_t { kUnix, kTcp };

  Listener(Kind kind, UniqueFd fd, std::string endpoint, std::optional<SocketFile> file = {})
      : kind_(kind), fd_(std::move(fd)), endpoint_(std::move(endpoint)), file_(std::move(file)) {}

  Kind kind() const { return kind_; }
  int fd() const { return fd_.get(); }

  // What a client connects to: "unix:/run/acceld/acceld.sock", "127.0.0.1:41234", "[::1]:8080". The
  // port is the real one.
  const std::string& endpoint() const { return endpoint_; }

 private:
  Kind kind_;
  UniqueFd fd_;
  std::string endpoint_;
  std::optional<SocketFile> file_;
};

// Listens on a Unix socket at `path`, which the owner alone may use, or, if the daemon is root, its
// group too; `mode` replaces these permissions. A missing folder is made, its parents are not.
//
// A socket that another process listens on is never taken: failed precondition, naming that process
// where it is known. One that a process left behind is replaced. The file goes with the listener.
// Invalid argument: the path is empty, too long for a socket, or names something else than a
// socket.
absl::StatusOr<Listener> ListenUnix(const std::string& path,
                                    std::optional<mode_t> mode = std::nullopt);

// Listens on the loopback address or addresses that `host_port`, such as "127.0.0.1:0",
// "[::1]:8080" or "localhost:8080", names. Port 0 lets the system choose; a name with several
// addresses gets the same port on all.
//
// Invalid argument: not HOST:PORT, a host that does not resolve, or an address off loopback, since
// the connection is not encrypted. Other errors are those of the system, such as a port in use.
absl::StatusOr<std::vector<Listener>> ListenTcp(std::string_view host_port);

// The sockets that systemd, or systemd-socket-activate, opened for this process (sd_listen_fds(3));
// none where there are none. Clears $LISTEN_FDS and its like, so that no child takes them for its
// own. Call it once, after any re-execution of the process. The same rules as above hold for what
// was passed: listening stream sockets, Unix or TCP on loopback; else an error that names the
// descriptor.
absl::StatusOr<std::vector<Listener>> TakeInheritedListeners();

}  // namespace acceld
