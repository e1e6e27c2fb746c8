#include "server/transport/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "fmt/format.h"

namespace acceld {
namespace {

template <typename T>
const T& As(const SocketAddress& address) {
  return *reinterpret_cast<const T*>(address.data());
}

// The IPv4 address, also of an IPv6 socket that talks IPv4.
std::optional<in_addr> IPv4Of(const SocketAddress& address) {
  if (address.family() == AF_INET) return As<sockaddr_in>(address).sin_addr;
  if (address.family() != AF_INET6) return std::nullopt;
  const in6_addr& ipv6 = As<sockaddr_in6>(address).sin6_addr;
  if (!IN6_IS_ADDR_V4MAPPED(&ipv6)) return std::nullopt;
  in_addr ipv4;
  std::memcpy(&ipv4, ipv6.s6_addr + 12, sizeof(ipv4));
  return ipv4;
}

std::string UnixName(const SocketAddress& address) {
  constexpr std::size_t kPathOffset = offsetof(sockaddr_un, sun_path);
  if (address.size() <= kPathOffset) return "";
  std::string_view name(As<sockaddr_un>(address).sun_path, address.size() - kPathOffset);
  if (name.front() == '\0') return fmt::format("@{}", name.substr(1));
  return std::string(name.substr(0, name.find('\0')));
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* address, socklen_t length)
    : length_(std::min<socklen_t>(length, sizeof(storage_))) {
  std::memcpy(&storage_, address, length_);
}

bool SocketAddress::IsLoopback() const {
  if (const auto ipv4 = IPv4Of(*this)) return (ntohl(ipv4->s_addr) >> 24) == 127;
  if (family() != AF_INET6) return false;
  return IN6_IS_ADDR_LOOPBACK(&As<sockaddr_in6>(*this).sin6_addr);
}

std::string SocketAddress::Host() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (const auto ipv4 = IPv4Of(*this)) {
    inet_ntop(AF_INET, &*ipv4, text, sizeof(text));
  } else if (family() == AF_INET6) {
    inet_ntop(AF_INET6, &As<sockaddr_in6>(*this).sin6_addr, text, sizeof(text));
  }
  return text;
}

std::uint16_t SocketAddress::Port() const {
  if (family() == AF_INET) return ntohs(As<sockaddr_in>(*this).sin_port);
  if (family() == AF_INET6) return ntohs(As<sockaddr_in6>(*this).sin6_port);
  return 0;
}

void SocketAddress::SetPort(std::uint16_t port) {
  if (family() == AF_INET) reinterpret_cast<sockaddr_in*>(&storage_)->sin_port = htons(port);
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6*>(&storage_)->sin6_port = htons(port);
}

std::string SocketAddress::ToString() const {
  if (is_unix()) return fmt::format("unix:{}", UnixName(*this));
  const std::string host = Host();
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, Port()) : fmt::format("{}:{}", host, Port());
}

}  // namespace acceld
