#include "channel/descriptor_passing.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "backends/core/status.h"
#include "channel/socket_stream.h"
#include "fmt/format.h"

namespace acceld {
namespace {

// How many descriptors one message brings at most; our peers send one.
constexpr std::size_t kMaxDescriptors = 4;

absl::Status Lost() {
  return absl::UnavailableError(fmt::format("The connection is lost: {}.", std::strerror(errno)));
}

bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

absl::StatusOr<std::size_t> SendSomeWithDescriptor(int socket, absl::Span<const std::byte> bytes,
                                                   int descriptor) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (WouldBlock()) return 0;
  return Lost();
}

absl::Status SendWithDescriptor(int socket, absl::Span<const std::byte> bytes, int descriptor) {
  ACCELD_ASSIGN_OR_RETURN(const std::size_t sent,
                          SendSomeWithDescriptor(socket, bytes, descriptor));
  if (sent == bytes.size()) return absl::OkStatus();
  return absl::UnavailableError("The connection takes no more.");
}

absl::StatusOr<std::size_t> ReceiveWithDescriptors(int socket, absl::Span<std::byte> target,
                                                   std::deque<UniqueFd>& descriptors) {
  iovec part{target.data(), target.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t received = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (received < 0) {
    if (WouldBlock()) return 0;
    return Lost();
  }
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
       each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(each) + i * sizeof descriptor, sizeof descriptor);
      descriptors.emplace_back(descriptor);
    }
  }
  // One that this process had no room for keeps its place.
  if ((message.msg_flags & MSG_CTRUNC) != 0) descriptors.emplace_back();
  if (received == 0 && !target.empty()) return StreamClosed();
  return static_cast<std::size_t>(received);
}

}  // namespace acceld
