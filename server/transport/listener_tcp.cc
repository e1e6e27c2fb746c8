#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "server/transport/listener.h"
#include "server/transport/listener_address.h"
#include "server/transport/socket_address.h"

namespace acceld {
namespace {

// A port that the system chose for one address of a name may be taken on another.
constexpr int kMaxPortAttempts = 10;

absl::StatusOr<std::vector<SocketAddress>> Resolve(std::string_view text) {
  ACCELD_ASSIGN_OR_RETURN(const HostPort host_port, ParseHostPort(text));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host_port.host.c_str(), nullptr, &hints, &found); error != 0) {
    return InvalidArgument(fmt::format("Host {} of \"{}\" cannot be resolved: {}.", host_port.host,
                                       text, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);

  std::vector<SocketAddress> addresses;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    SocketAddress address(info->ai_addr, info->ai_addrlen);
    address.SetPort(host_port.port);
    if (!address.IsLoopback()) {
      return InvalidArgument(fmt::format(
          "{} of \"{}\" is not a loopback address; TCP without encryption is insecure off this "
          "host, so only 127.0.0.0/8 and ::1 are allowed.",
          address.Host(), text));
    }
    // The hosts file names 127.0.0.1 twice where localhost is also an IPv6 name.
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
  }
  return addresses;
}

absl::StatusOr<Listener> ListenOn(const SocketAddress& address) {
  const auto failed = [&address](int error) {
    return absl::ErrnoToStatus(error, fmt::format("Cannot listen on {}", address.ToString()));
  };
  UniqueFd fd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return failed(errno);
  const int on = 1;
  // Lets a restarted daemon have its port back at once. Never SO_REUSEPORT, with which two daemons
  // would share one.
  if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) return failed(errno);
  if (address.family() == AF_INET6 &&
      setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) != 0) {
    return failed(errno);
  }
  if (bind(fd.get(), address.data(), address.size()) != 0) return failed(errno);
  if (listen(fd.get(), SOMAXCONN) != 0) return failed(errno);

  SocketAddress bound;
  if (getsockname(fd.get(), bound.data(), bound.length()) != 0) return failed(errno);
  return Listener(Listener::Kind::kTcp, std::move(fd), bound.ToString());
}

// Whether the host has the address at all: localhost often names ::1 where IPv6 is off.
bool IsOnThisHost(SocketAddress address) {
  address.SetPort(0);
  const UniqueFd fd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return errno != EAFNOSUPPORT;
  return bind(fd.get(), address.data(), address.size()) == 0 || errno != EADDRNOTAVAIL;
}

// Listens on each address, on the port of the first where that is left to the system.
absl::StatusOr<std::vector<Listener>> ListenOnAll(std::vector<SocketAddress> addresses) {
  std::vector<Listener> listeners;
  for (SocketAddress& address : addresses) {
    ACCELD_ASSIGN_OR_RETURN(Listener listener, ListenOn(address));
    SocketAddress bound;
    getsockname(listener.fd(), bound.data(), bound.length());
    for (SocketAddress& other : addresses) other.SetPort(bound.Port());
    listeners.push_back(std::move(listener));
  }
  return listeners;
}

}  // namespace

absl::StatusOr<std::vector<Listener>> ListenTcp(std::string_view host_port) {
  ACCELD_ASSIGN_OR_RETURN(std::vector<SocketAddress> addresses, Resolve(host_port));
  if (addresses.size() > 1) {
    std::erase_if(addresses, [](const SocketAddress& address) { return !IsOnThisHost(address); });
    if (addresses.empty()) {
      return absl::UnavailableError(
          fmt::format("This host has none of the addresses of \"{}\".", host_port));
    }
  }
  const bool system_chooses = addresses.size() > 1 && addresses.front().Port() == 0;
  absl::StatusOr<std::vector<Listener>> listeners = ListenOnAll(addresses);
  for (int attempt = 1; system_chooses && !listeners.ok() && attempt < kMaxPortAttempts;
       ++attempt) {
    listeners = ListenOnAll(addresses);
  }
  return listeners;
}

}  // namespace acceld
