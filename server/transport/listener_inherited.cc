#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "server/transport/listener.h"
#include "server/transport/socket_address.h"

namespace acceld {
namespace {

// SD_LISTEN_FDS_START of sd_listen_fds(3).
constexpr int kFirstInheritedFd = 3;

// More sockets than any unit passes; a bound on what a stray variable makes the daemon close.
constexpr int kMaxInheritedFds = 64;

std::optional<std::string> TakeVariable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  std::string taken(value);
  unsetenv(name);
  return taken;
}

std::optional<int> ParseNumber(const std::string& text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [parsed_to, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || parsed_to != end) return std::nullopt;
  return number;
}

std::optional<int> IntegerOption(int fd, int option) {
  int value = 0;
  socklen_t length = sizeof(value);
  if (getsockopt(fd, SOL_SOCKET, option, &value, &length) != 0) return std::nullopt;
  return value;
}

absl::Status Unusable(int fd, std::string_view why) {
  return InvalidArgument(fmt::format("Inherited descriptor {} {}.", fd, why));
}

absl::StatusOr<Listener> Inherit(UniqueFd fd) {
  const int number = fd.get();
  if (!IntegerOption(number, SO_TYPE).has_value()) return Unusable(number, "is not a socket");
  if (IntegerOption(number, SO_TYPE) != SOCK_STREAM) {
    return Unusable(number, "is not a stream socket");
  }
  if (IntegerOption(number, SO_ACCEPTCONN) != 1) return Unusable(number, "does not listen");

  SocketAddress address;
  if (getsockname(number, address.data(), address.length()) != 0) {
    return Unusable(number, std::strerror(errno));
  }
  const bool is_tcp = address.family() == AF_INET || address.family() == AF_INET6;
  if (!is_tcp && !address.is_unix()) {
    return Unusable(number, "is neither a Unix nor a TCP socket");
  }
  if (is_tcp && !address.IsLoopback()) {
    return Unusable(number,
                    fmt::format("listens on {}, which is not a loopback address; TCP without "
                                "encryption is insecure off this host",
                                address.ToString()));
  }
  const int flags = fcntl(number, F_GETFL);
  if (flags < 0 || fcntl(number, F_SETFL, flags | O_NONBLOCK) != 0) {
    return Unusable(number, std::strerror(errno));
  }
  return Listener(is_tcp ? Listener::Kind::kTcp : Listener::Kind::kUnix, std::move(fd),
                  address.ToString());
}

}  // namespace

absl::StatusOr<std::vector<Listener>> TakeInheritedListeners() {
  const std::optional<std::string> pid_text = TakeVariable("LISTEN_PID");
  const std::optional<std::string> count_text = TakeVariable("LISTEN_FDS");
  TakeVariable("LISTEN_FDNAMES");
  if (!pid_text.has_value() || !count_text.has_value()) return std::vector<Listener>();

  const std::optional<int> pid = ParseNumber(*pid_text);
  if (!pid.has_value()) {
    return InvalidArgument(fmt::format("LISTEN_PID is \"{}\"; it must be a number.", *pid_text));
  }
  // Meant for the process that started this one.
  if (*pid != getpid()) return std::vector<Listener>();

  const std::optional<int> count = ParseNumber(*count_text);
  if (!count.has_value() || *count < 0 || *count > kMaxInheritedFds) {
    return InvalidArgument(fmt::format("LISTEN_FDS is \"{}\"; it must be a number from 0 to {}.",
                                       *count_text, kMaxInheritedFds));
  }
  for (int fd = kFirstInheritedFd; fd < kFirstInheritedFd + *count; ++fd) {
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return Unusable(fd, std::strerror(errno));
  }
  std::vector<Listener> listeners;
  for (int fd = kFirstInheritedFd; fd < kFirstInheritedFd + *count; ++fd) {
    ACCELD_ASSIGN_OR_RETURN(Listener listener, Inherit(UniqueFd(fd)));
    listeners.push_back(std::move(listener));
  }
  return listeners;
}

}  // namespace acceld
