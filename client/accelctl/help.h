// What accelctl tells of itself.
#pragma once

#include <optional>
#include <string>

#include "client/accelctl/options.h"

namespace acceld::accelctl {

// About one command, or about the program and all of them.
std::string HelpText(std::optional<Command> command);

}  // namespace acceld::accelctl
