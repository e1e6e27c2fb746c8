#include "tests/unit/server/transport/test_sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace acceld {

SocketFolder::SocketFolder() {
  char name[] = "/tmp/acceld-XXXXXX";
  if (mkdtemp(name) == nullptr) std::abort();
  folder_ = name;
}

SocketFolder::~SocketFolder() { std::filesystem::remove_all(folder_); }

std::string SocketFolder::Path(std::string_view name) const {
  return folder_ + "/" + std::string(name);
}

UniqueFd ConnectUnix(const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return UniqueFd();
  }
  return fd;
}

UniqueFd ConnectTcp(std::uint16_t port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return UniqueFd();
  }
  return fd;
}

std::uint16_t PortOf(std::string_view endpoint) {
  return static_cast<std::uint16_t>(
      std::stoi(std::string(endpoint.substr(endpoint.rfind(':') + 1))));
}

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string ReadToEnd(int fd) {
  constexpr int kPatienceMs = 30000;
  std::string received;
  while (true) {
    pollfd ready{fd, POLLIN, 0};
    if (poll(&ready, 1, kPatienceMs) <= 0) return "timeout";
    char bytes[4096];
    const ssize_t count = recv(fd, bytes, sizeof(bytes), 0);
    if (count <= 0) return received;
    received.append(bytes, static_cast<std::size_t>(count));
  }
}

int CountOpenFds() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

}  // namespace acceld
