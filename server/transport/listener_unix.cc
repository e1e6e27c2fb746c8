#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "server/transport/listener.h"

namespace acceld {
namespace {

absl::Status CheckPath(const std::string& path) {
  constexpr std::size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty()) return InvalidArgument("The path of the Unix socket is empty.");
  if (path.find('\0') != std::string::npos) {
    return InvalidArgument("The path of the Unix socket contains a zero byte.");
  }
  if (path.size() > kMaxPathBytes) {
    return InvalidArgument(
        fmt::format("The path of the Unix socket is {} bytes long; at most {} are possible: {}",
                    path.size(), kMaxPathBytes, path));
  }
  return absl::OkStatus();
}

bool IsRoot() { return geteuid() == 0; }

absl::Status MakeFolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return absl::OkStatus();
  const std::string folder = path.substr(0, slash);
  // Everybody may reach root's socket, whose own permissions decide; a user's folder is private.
  if (mkdir(folder.c_str(), IsRoot() ? 0755 : 0700) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, fmt::format("Cannot make folder {}", folder));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Listener> ListenUnix(const std::string& path, std::optional<mode_t> mode) {
  ACCELD_RETURN_IF_ERROR(CheckPath(path));
  ACCELD_RETURN_IF_ERROR(MakeFolderOf(path));
  ACCELD_ASSIGN_OR_RETURN(SocketFile file, SocketFile::Claim(path));

  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, "Cannot create a Unix socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return absl::ErrnoToStatus(errno, fmt::format("Cannot create the socket {}", path));
  }
  ACCELD_RETURN_IF_ERROR(file.Adopt());
  // Before listen: until then nobody can connect, whatever the umask let through.
  if (chmod(path.c_str(), mode.value_or(IsRoot() ? 0660 : 0600)) != 0) {
    return absl::ErrnoToStatus(errno, fmt::format("Cannot set the permissions of {}", path));
  }
  if (listen(fd.get(), SOMAXCONN) != 0) {
    return absl::ErrnoToStatus(errno, fmt::format("Cannot listen on {}", path));
  }
  return Listener(Listener::Kind::kUnix, std::move(fd), fmt::format("unix:{}", path),
                  std::move(file));
}

}  // namespace acceld
