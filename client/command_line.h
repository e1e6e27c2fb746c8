// Reads the command line into the program's absl flags.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace acceld {

struct CommandLine {
  // The arguments that are no flags, in their order.
  std::vector<std::string> words;
  // Whether `--help` is among the arguments.
  bool help = false;
};

// Sets the flags that `arguments` (without the program's name) give: `--name=value`, `--name
// value`, and for a bool `--name`, `--noname`; a dash in a name is as good as an underscore. Flags
// and words come in any order.
//
// Unlike absl::ParseCommandLine, which prints and exits with 1, it leaves to the caller what a
// mistake means. Invalid argument, in one line, where a flag is unknown, or its value is missing or
// not of its type.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments);

}  // namespace acceld
