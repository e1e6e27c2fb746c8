#include "channel/socket_stream.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "backends/core/status.h"
#include "channel/descriptor_passing.h"
#include "fmt/format.h"

namespace acceld {
namespace {

absl::StatusOr<std::size_t> FromSystem(ssize_t moved) {
  if (moved >= 0) return static_cast<std::size_t>(moved);
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
  return absl::UnavailableError(fmt::format("The connection is lost: {}.", std::strerror(errno)));
}

}  // namespace

absl::Status StreamClosed() {
  return absl::UnavailableError("The other side has closed the connection.");
}

SocketStream::SocketStream(UniqueFd socket, bool takes_descriptors)
    : socket_(std::move(socket)), takes_descriptors_(takes_descriptors) {
  fcntl(socket_.get(), F_SETFL, fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
  const int on = 1;
  setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // fails on a Unix socket
}

absl::StatusOr<std::size_t> ReceiveBytes(int socket, absl::Span<std::byte> target) {
  const ssize_t moved = recv(socket, target.data(), target.size(), MSG_DONTWAIT);
  if (moved == 0 && !target.empty()) return StreamClosed();
  return FromSystem(moved);
}

absl::StatusOr<std::size_t> SocketStream::Read(absl::Span<std::byte> target) {
  return takes_descriptors_ ? ReceiveWithDescriptors(fd(), target, descriptors_)
                            : ReceiveBytes(fd(), target);
}

absl::StatusOr<std::size_t> SocketStream::Write(absl::Span<const std::byte> source) {
  return FromSystem(send(socket_.get(), source.data(), source.size(), MSG_NOSIGNAL));
}

absl::StatusOr<std::size_t> SocketStream::WriteWithDescriptor(absl::Span<const std::byte> source,
                                                              int descriptor) {
  return SendSomeWithDescriptor(fd(), source, descriptor);
}

UniqueFd SocketStream::NextDescriptor() {
  if (descriptors_.empty()) return UniqueFd();
  UniqueFd first = std::move(descriptors_.front());
  descriptors_.pop_front();
  return first;
}

}  // namespace acceld
