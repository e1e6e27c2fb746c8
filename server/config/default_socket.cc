#include "server/config/default_socket.h"

#include <unistd.h>

#include <cstdlib>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {

absl::StatusOr<std::string> DefaultSocketPath() {
  return DefaultSocketPath(geteuid(), std::getenv("XDG_RUNTIME_DIR"));
}

absl::StatusOr<std::string> DefaultSocketPath(unsigned uid, const char* runtime_dir) {
  if (uid == 0) return "/run/acceld/acceld.sock";
  if (runtime_dir == nullptr || *runtime_dir == '\0') {
    return InvalidArgument(
        "XDG_RUNTIME_DIR is not set, so there is no default for the Unix socket; give its path "
        "with --socket=PATH.");
  }
  if (*runtime_dir != '/') {
    return InvalidArgument(fmt::format(
        "XDG_RUNTIME_DIR is \"{}\", which is not an absolute path; give the Unix socket's path "
        "with --socket=PATH.",
        runtime_dir));
  }
  return fmt::format("{}/acceld/acceld.sock", runtime_dir);
}

}  // namespace acceld
