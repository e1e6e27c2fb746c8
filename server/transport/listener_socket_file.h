// The right to a Unix socket's path.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/core/unique_fd.h"

namespace acceld {

// Holds PATH.lock, so that of several daemons that start at once one gets the path, and removes the
// socket's file in the end, if it is still its own. Movable.
class SocketFile {
 public:
  // Takes `path` and removes a socket that nobody listens on any more. Failed precondition where
  // another process holds or listens on it; invalid argument where something else is there.
  static absl::StatusOr<SocketFile> Claim(const std::string& path);

  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&& other) noexcept;
  ~SocketFile();

  // Notes that the file now at the path is that of this process's socket.
  absl::Status Adopt();

 private:
  SocketFile(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  void Remove();

  std::string path_;
  UniqueFd lock_;
  bool adopted_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace acceld
