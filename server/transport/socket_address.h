// An address of a Unix or TCP socket, in the kernel's form.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace acceld {

class SocketAddress {
 public:
  SocketAddress() = default;
  SocketAddress(const sockaddr* address, socklen_t length);

  // For the calls that fill an address in.
  sockaddr* data() { return reinterpret_cast<sockaddr*>(&storage_); }
  socklen_t* length() { return &length_; }

  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return length_; }
  int family() const { return storage_.ss_family; }
  bool is_unix() const { return family() == AF_UNIX; }

  // Whether only processes of this host can reach it: 127.0.0.0/8, ::1, and the former written as
  // IPv6.
  bool IsLoopback() const;

  // The numeric address; an IPv4 address written as IPv6 in its IPv4 form. Empty for Unix sockets.
  std::string Host() const;
  // The port; 0 for Unix sockets.
  std::uint16_t Port() const;
  void SetPort(std::uint16_t port);

  // "127.0.0.1:80", "[::1]:80", or "unix:PATH"; a socket without a name is "unix:".
  std::string ToString() const;

  friend bool operator==(const SocketAddress& a, const SocketAddress& b) {
    return a.family() == b.family() && a.ToString() == b.ToString();
  }

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = sizeof(storage_);
};

}  // namespace acceld
