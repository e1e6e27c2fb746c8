// accelctl's commands.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "client/accelctl/options.h"

namespace acceld::accelctl {

struct CommandResult {
  // For stdout; also where the status is an error that the daemon's answer tells.
  std::string output{};
  // Whether all is well.
  absl::Status status{};
};

// Does what `options.command`, which is set, says.
CommandResult RunCommand(const Options& options);

}  // namespace acceld::accelctl
