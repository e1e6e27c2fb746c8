// Where the daemon listens unless told otherwise.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace acceld {

// /run/acceld/acceld.sock for root, $XDG_RUNTIME_DIR/acceld/acceld.sock for a user. Invalid
// argument, asking for --socket, for a user without that variable.
absl::StatusOr<std::string> DefaultSocketPath();

// The same for user `uid` with `runtime_dir` as the variable's value, null if it is not set.
absl::StatusOr<std::string> DefaultSocketPath(unsigned uid, const char* runtime_dir);

}  // namespace acceld
