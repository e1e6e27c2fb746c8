#include "server/config/flags.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "backends/core/status.h"
#include "fmt/format.h"
#include "server/config/config_checks.h"
#include "server/config/exit_status.h"
#include "server/config/load_config.h"

ABSL_FLAG(std::string, socket, "",
          "PATH of the Unix socket to listen on. Default: $XDG_RUNTIME_DIR/acceld/acceld.sock, or "
          "/run/acceld/acceld.sock for root.");
ABSL_FLAG(std::vector<std::string>, listen, {},
          "HOST:PORT to listen on as well, with a loopback HOST; several separated by commas or by "
          "repeating the flag. Port 0 lets the system choose.");
ABSL_FLAG(std::string, config, "",
          "FILE with the configuration, in protobuf's text format (server/config/config.proto). "
          "Flags override it.");
ABSL_FLAG(std::string, backend, "",
          "KIND of backend that sessions get unless they ask for another: cpu, cuda, rocm, metal, "
          "level_zero, vulkan, webgpu. Default: the best one available.");
ABSL_FLAG(absl::optional<absl::Duration>, drain_timeout, absl::nullopt,
          "DURATION for which a daemon that is told to stop works on what it has accepted, such as "
          "20s or 1500ms, at most 1h. Default: 20s.");
ABSL_FLAG(std::string, log_level, "",
          "The least severe messages to write: trace, debug, info, warning, error. Default: info.");
ABSL_FLAG(
    std::string, log_format, "",
    "text, json or journald. Default: journald where the log goes to the journal, else text.");
ABSL_FLAG(std::string, plugin_folder, "",
          "FOLDER of the plugins, libacceld_KIND.so. Default: the program's own folder, then "
          "../lib/acceld from there.");
ABSL_FLAG(absl::optional<std::uint32_t>, cpu_threads, absl::nullopt,
          "Threads that an operation on the CPU is split over, at most 1024 and OMP_THREAD_LIMIT. "
          "Default: 0, one per core.");

namespace acceld {
namespace {

constexpr std::array<std::string_view, 9> kFlags = {"socket",     "listen",        "config",
                                                    "backend",    "drain_timeout", "log_level",
                                                    "log_format", "plugin_folder", "cpu_threads"};

absl::CommandLineFlag* FindFlag(std::string_view name) {
  if (std::ranges::find(kFlags, name) == kFlags.end()) return nullptr;
  return absl::FindCommandLineFlag({name.data(), name.size()});
}

using FlagValues = std::map<std::string, std::string, std::less<>>;

// Splits the arguments into names and values, "--name=value" or "--name value", one dash or two.
// The last value of a flag counts, but those of --listen add up.
absl::Status CollectFlags(std::span<const char* const> arguments, CommandLine& line,
                          FlagValues& values) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument.size() < 2 || argument.front() != '-' || argument == "--") {
      return InvalidArgument(fmt::format(
          "\"{}\" is not a flag; flags start with --, and --help lists them.", argument));
    }
    const std::string_view flag = argument.substr(argument[1] == '-' ? 2 : 1);
    const std::size_t equals = flag.find('=');
    const std::string_view name = flag.substr(0, equals);
    if (flag == "help" || flag == "h") {
      line.help = true;
      continue;
    }
    if (flag == "version") {
      line.version = true;
      continue;
    }
    if (FindFlag(name) == nullptr) {
      return InvalidArgument(fmt::format("There is no flag \"{}\"; --help lists the flags.",
                                         argument.substr(0, argument.find('='))));
    }
    std::string_view value;
    if (equals != std::string_view::npos) {
      value = flag.substr(equals + 1);
    } else if (i + 1 < arguments.size() && arguments[i + 1][0] != '-') {
      value = arguments[++i];
    }
    if (value.empty()) return InvalidArgument(fmt::format("Flag --{} needs a value.", name));
    std::string& kept = values[std::string(name)];
    kept = name == "listen" && !kept.empty() ? fmt::format("{},{}", kept, value) : value;
  }
  return absl::OkStatus();
}

absl::Status SetFlags(const FlagValues& values) {
  // What an earlier call set is not meant for this one.
  for (const std::string_view name : kFlags) {
    std::string ignored;
    FindFlag(name)->ParseFrom(FindFlag(name)->DefaultValue(), &ignored);
  }
  for (const auto& [name, value] : values) {
    std::string why;
    if (!FindFlag(name)->ParseFrom(value, &why)) {
      return InvalidArgument(fmt::format("Flag --{} cannot be \"{}\".", name, value));
    }
  }
  return absl::OkStatus();
}

absl::Status ApplyFlags(Config& config) {
  if (const std::string socket = absl::GetFlag(FLAGS_socket); !socket.empty()) {
    config.socket = socket;
  }
  if (const auto listen = absl::GetFlag(FLAGS_listen); !listen.empty()) {
    for (const std::string& address : listen) {
      ACCELD_RETURN_IF_ERROR(CheckListen("Flag --listen", address));
    }
    config.listen = listen;
  }
  if (const std::string backend = absl::GetFlag(FLAGS_backend); !backend.empty()) {
    ACCELD_ASSIGN_OR_RETURN(config.backend, ParseChoice<BackendKind>("Flag --backend", backend));
  }
  if (const auto timeout = absl::GetFlag(FLAGS_drain_timeout); timeout.has_value()) {
    constexpr absl::Duration kLongest = absl::Milliseconds(kDrainTimeoutMsRange.max);
    if (*timeout < absl::ZeroDuration() || *timeout > kLongest) {
      return InvalidArgument(fmt::format("Flag --drain_timeout is {}; it must be from 0 to {}.",
                                         absl::FormatDuration(*timeout),
                                         absl::FormatDuration(kLongest)));
    }
    config.drain_timeout = absl::ToChronoMilliseconds(*timeout);
  }
  if (const std::string level = absl::GetFlag(FLAGS_log_level); !level.empty()) {
    ACCELD_ASSIGN_OR_RETURN(config.log_level, ParseChoice<LogLevel>("Flag --log_level", level));
  }
  if (const std::string format = absl::GetFlag(FLAGS_log_format); !format.empty()) {
    ACCELD_ASSIGN_OR_RETURN(config.log_format, ParseChoice<LogFormat>("Flag --log_format", format));
  }
  if (const std::string folder = absl::GetFlag(FLAGS_plugin_folder); !folder.empty()) {
    config.plugin_folder = folder;
  }
  if (const auto threads = absl::GetFlag(FLAGS_cpu_threads); threads.has_value()) {
    ACCELD_RETURN_IF_ERROR(CheckRange("Flag --cpu_threads", *threads, kCpuThreadsRange));
    config.cpu_threads = *threads;
  }
  return absl::OkStatus();
}

// Abseil's own parser exits by itself, with status 1 and a page of text.
absl::StatusOr<CommandLine> Read(std::span<const char* const> arguments) {
  CommandLine line;
  FlagValues values;
  ACCELD_RETURN_IF_ERROR(CollectFlags(arguments, line, values));
  if (line.help || line.version) return line;
  ACCELD_RETURN_IF_ERROR(SetFlags(values));
  if (const std::string file = absl::GetFlag(FLAGS_config); !file.empty()) {
    ACCELD_ASSIGN_OR_RETURN(line.config, LoadConfig(file));
  }
  ACCELD_RETURN_IF_ERROR(ApplyFlags(line.config));
  return line;
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(std::span<const char* const> arguments) {
  absl::StatusOr<CommandLine> line = Read(arguments);
  if (line.ok()) return line;
  const absl::string_view message = line.status().message();
  return absl::Status(line.status().code(), OneLine({message.data(), message.size()}));
}

std::string HelpText() {
  std::string text =
      "acceld owns this machine's accelerators and lets many processes use them.\n\n"
      "usage: acceld [flags]\n\n";
  for (const std::string_view name : kFlags) {
    text += fmt::format("  --{}\n      {}\n", name, FindFlag(name)->Help());
  }
  text +=
      "  --help\n      Prints this.\n"
      "  --version\n      Prints the version.\n\n";
  text += fmt::format(
      "Exit status: 0 after draining, {} where it cannot run, {} where its flags or configuration\n"
      "are wrong, {} after one of its devices was lost: start it again.\n",
      EXIT_FAILURE, kExitUsage, kExitDeviceLost);
  return text;
}

Config ParseCommandLineOrExit(int argc, char** argv, const std::string& version) {
  const std::span<const char* const> all(argv, static_cast<std::size_t>(argc));
  absl::StatusOr<CommandLine> line = ParseCommandLine(all.subspan(all.empty() ? 0 : 1));
  if (!line.ok()) {
    const absl::string_view message = line.status().message();
    fmt::print(stderr, "acceld: {}\n", std::string_view(message.data(), message.size()));
    std::exit(kExitUsage);
  }
  if (line->help || line->version) {
    fmt::print("{}", line->help ? HelpText() : fmt::format("acceld {}\n", version));
    std::exit(0);
  }
  return std::move(line->config);
}

}  // namespace acceld
