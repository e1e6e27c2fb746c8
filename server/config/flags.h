// The daemon's command line.
#pragma once

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "server/config/config.h"

namespace acceld {

struct CommandLine {
  // The file that --config names, or else the defaults, overridden by the flags.
  Config config;
  // The user wants only this, on stdout.
  bool help = false;
  bool version = false;
};

// Reads the arguments that follow the program's name, and the configuration file if one is named.
// The flags' values live in process-wide variables, so call it from one thread at a time. Every
// error is one line: an unknown flag, a value missing or out of range, an argument that is no flag,
// anything wrong with the file.
absl::StatusOr<CommandLine> ParseCommandLine(std::span<const char* const> arguments);

// What --help prints.
std::string HelpText();

// For main: the configuration. Prints help or `version` and exits 0 where that is asked for; prints
// one line on stderr and exits with kExitUsage where something is wrong.
Config ParseCommandLineOrExit(int argc, char** argv, const std::string& version);

}  // namespace acceld
