#include "server/service/sd_notify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "backends/core/status.h"
#include "backends/core/unique_fd.h"
#include "fmt/format.h"

namespace acceld {

absl::Status NotifyServiceManager(std::string_view state) {
  const char* variable = std::getenv("NOTIFY_SOCKET");
  if (variable == nullptr) return absl::OkStatus();
  const std::string_view name(variable);

  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() < 2 || (name.front() != '/' && name.front() != '@')) {
    return InvalidArgument(fmt::format(
        "NOTIFY_SOCKET is \"{}\"; it must be an absolute path or start with \"@\".", name));
  }
  if (name.size() >= sizeof(address.sun_path)) {
    return InvalidArgument(fmt::format("NOTIFY_SOCKET is {} bytes long; at most {} are possible.",
                                       name.size(), sizeof(address.sun_path) - 1));
  }
  std::memcpy(address.sun_path, name.data(), name.size());
  // An abstract name starts with a zero byte, and its length says where it ends.
  if (name.front() == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());

  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid() || sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), length) < 0) {
    return absl::ErrnoToStatus(errno, fmt::format("Cannot notify the service manager at {}", name));
  }
  return absl::OkStatus();
}

}  // namespace acceld
