#include "server/transport/listener_socket_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {
namespace {

// A holder that removes its lock file while others open it makes them try again, at most this
// often.
constexpr int kMaxLockAttempts = 100;

std::string LockPath(const std::string& path) { return path + ".lock"; }

// `pid` is 0 where it is not known.
absl::Status InUse(const std::string& path, pid_t pid) {
  const std::string who = pid > 0 ? fmt::format(" (pid {})", pid) : "";
  return absl::FailedPreconditionError(
      fmt::format("Socket {} is in use by another process{}.", path, who));
}

// The holder writes its pid into the lock file, for this message alone.
pid_t ReadHolder(int lock_fd) {
  char text[16];
  const ssize_t length = pread(lock_fd, text, sizeof(text), 0);
  pid_t pid = 0;
  if (length > 0) std::from_chars(text, text + length, pid);
  return pid;
}

void WriteHolder(int lock_fd) {
  const std::string text = fmt::format("{}\n", getpid());
  if (ftruncate(lock_fd, 0) != 0) return;
  // Without the number the message of a second daemon says less; nothing else depends on it.
  [[maybe_unused]] const ssize_t written = pwrite(lock_fd, text.data(), text.size(), 0);
}

bool IsSameFile(int fd, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return fstat(fd, &opened) == 0 && lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

absl::StatusOr<UniqueFd> LockFile(const std::string& path) {
  const std::string lock_path = LockPath(path);
  for (int attempt = 0; attempt < kMaxLockAttempts; ++attempt) {
    UniqueFd fd(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) return absl::ErrnoToStatus(errno, fmt::format("Cannot open {}", lock_path));
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return InUse(path, ReadHolder(fd.get()));
      if (errno == EINTR) continue;
      return absl::ErrnoToStatus(errno, fmt::format("Cannot lock {}", lock_path));
    }
    // The last holder may have removed the file between the open and the lock.
    if (IsSameFile(fd.get(), lock_path)) {
      WriteHolder(fd.get());
      return fd;
    }
  }
  return InUse(path, 0);
}

// The pid of who listens, seen from the end that connected.
pid_t ListenerOf(int socket_fd) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return 0;
  return credentials.pid;
}

// Removes the socket at `path` if nobody listens on it. With the lock held, that nobody is not a
// daemon that is about to.
absl::Status RemoveStaleSocket(const std::string& path) {
  struct stat file {};
  if (lstat(path.c_str(), &file) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return absl::ErrnoToStatus(errno, fmt::format("Cannot look at {}", path));
  }
  if (!S_ISSOCK(file.st_mode)) {
    return InvalidArgument(fmt::format("{} exists and is not a socket.", path));
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return absl::ErrnoToStatus(errno, "Cannot create a Unix socket");
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return InUse(path, ListenerOf(probe.get()));
  }
  switch (errno) {
    case EAGAIN:      // Somebody listens, and has no room for another connection just now.
    case EPROTOTYPE:  // Somebody receives there, but not connections.
      return InUse(path, 0);
    case ENOENT:
      return absl::OkStatus();
    case ECONNREFUSED:
      break;
    default:
      return absl::ErrnoToStatus(errno, fmt::format("Cannot tell whether {} is in use", path));
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return absl::ErrnoToStatus(errno, fmt::format("Cannot remove the unused socket {}", path));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SocketFile> SocketFile::Claim(const std::string& path) {
  ACCELD_ASSIGN_OR_RETURN(UniqueFd lock, LockFile(path));
  SocketFile file(path, std::move(lock));
  ACCELD_RETURN_IF_ERROR(RemoveStaleSocket(path));
  return file;
}

SocketFile::SocketFile(SocketFile&& other) noexcept { *this = std::move(other); }

SocketFile& SocketFile::operator=(SocketFile&& other) noexcept {
  if (this == &other) return *this;
  Remove();
  path_ = std::move(other.path_);
  lock_ = std::move(other.lock_);
  adopted_ = std::exchange(other.adopted_, false);
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

SocketFile::~SocketFile() { Remove(); }

absl::Status SocketFile::Adopt() {
  struct stat file {};
  if (lstat(path_.c_str(), &file) != 0) {
    return absl::ErrnoToStatus(errno, fmt::format("Cannot look at {}", path_));
  }
  device_ = file.st_dev;
  inode_ = file.st_ino;
  adopted_ = true;
  return absl::OkStatus();
}

void SocketFile::Remove() {
  if (!lock_.valid()) return;
  struct stat file {};
  if (adopted_ && lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ &&
      file.st_ino == inode_) {
    unlink(path_.c_str());
  }
  adopted_ = false;
  // While the lock is held: who opens the file from here on makes a new one.
  unlink(LockPath(path_).c_str());
  lock_.Reset();
}

}  // namespace acceld
