// Raw clients, and a place for their sockets, for the tests of connections.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/core/unique_fd.h"

namespace acceld {

// A folder with a name short enough for a Unix socket's path, removed with what is in it.
class SocketFolder {
 public:
  SocketFolder();
  ~SocketFolder();
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;

  std::string Path(std::string_view name) const;

 private:
  std::string folder_;
};

// A connected socket; an invalid one, with errno set, where that failed.
UniqueFd ConnectUnix(const std::string& path);
UniqueFd ConnectTcp(std::uint16_t port);

// The port of "127.0.0.1:41234" or "[::1]:8080".
std::uint16_t PortOf(std::string_view endpoint);

// Sends all of `bytes`; false where the peer is gone.
bool SendAll(int fd, std::string_view bytes);

// What arrives until the peer closes the connection or resets it; nothing but "timeout" where that
// takes more than half a minute.
std::string ReadToEnd(int fd);

// The number of descriptors that this process has open.
int CountOpenFds();

}  // namespace acceld
