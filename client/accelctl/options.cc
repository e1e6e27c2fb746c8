#include "client/accelctl/options.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "absl/flags/flag.h"
#include "absl/time/time.h"
#include "backends/core/status.h"
#include "client/command_line.h"
#include "client/endpoint.h"
#include "fmt/format.h"

// help.cc describes them.
ABSL_FLAG(std::string, endpoint, "", "");
ABSL_FLAG(absl::Duration, timeout, absl::Seconds(10), "");
ABSL_FLAG(bool, json, false, "");
ABSL_FLAG(std::string, kind, "", "");
ABSL_FLAG(std::string, device, "", "");
ABSL_FLAG(bool, version, false, "");

namespace acceld::accelctl {
namespace {

constexpr absl::Duration kLongestTimeout = absl::Hours(1);

template <typename E>
std::string NamesOf() {
  std::string names;
  for (const auto& entry : EnumTable<E>::kEntries) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
  }
  return names;
}

// A number of decimal digits only.
template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.front() == '-') {
    return std::nullopt;
  }
  return number;
}

bool IsDigits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

absl::StatusOr<Command> ParseCommand(const std::string& word) {
  const std::optional<Command> command = Parse<Command>(word);
  if (command.has_value()) return *command;
  return InvalidArgument(
      fmt::format("Command \"{}\" is unknown; it must be one of {}.", word, NamesOf<Command>()));
}

// The command and what follows it.
absl::Status ReadWords(const std::vector<std::string>& words, Options& options) {
  if (words.empty()) {
    return InvalidArgument(fmt::format(
        "No command is given; it must be one of {}. --help says more.", NamesOf<Command>()));
  }
  ACCELD_ASSIGN_OR_RETURN(options.command, ParseCommand(words[0]));
  const std::size_t wanted = options.command == Command::kEnd ? 2 : 1;
  if (words.size() > wanted) {
    return InvalidArgument(
        fmt::format("Argument \"{}\" is one too many for {}.", words[wanted], words[0]));
  }
  if (options.command != Command::kEnd) return absl::OkStatus();
  if (words.size() < wanted) {
    return InvalidArgument(
        "Command end needs the number of the session to end, as accelctl sessions shows it.");
  }
  const std::optional<std::uint64_t> id = ParseNumber<std::uint64_t>(words[1]);
  if (!id.has_value()) {
    return InvalidArgument(fmt::format(
        "Session \"{}\" is no number; accelctl sessions shows the sessions' numbers.", words[1]));
  }
  options.session_id = *id;
  return absl::OkStatus();
}

// --kind and --device, which only selftest has a use for.
absl::Status ReadDevice(Options& options) {
  const std::string kind = absl::GetFlag(FLAGS_kind);
  const std::string device = absl::GetFlag(FLAGS_device);
  if (options.command != Command::kSelftest && !(kind.empty() && device.empty())) {
    return InvalidArgument(fmt::format("Flag --{} is for selftest, not for {}.",
                                       kind.empty() ? "device" : "kind", Name(*options.command)));
  }
  if (!kind.empty()) {
    options.connect.kind = Parse<BackendKind>(kind);
    if (!options.connect.kind.has_value()) {
      return InvalidArgument(fmt::format("Flag --kind is \"{}\"; it must be one of {}.", kind,
                                         NamesOf<BackendKind>()));
    }
  }
  if (device.empty()) return absl::OkStatus();
  if (!IsDigits(device)) {
    options.connect.uuid = device;
    return absl::OkStatus();
  }
  options.connect.ordinal = ParseNumber<int>(device);
  if (!options.connect.ordinal.has_value()) {
    return InvalidArgument(fmt::format("Flag --device is {}; a device's number is at most {}.",
                                       device, std::numeric_limits<int>::max()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments) {
  ACCELD_ASSIGN_OR_RETURN(CommandLine line, ParseCommandLine(arguments));
  Options options{.help = line.help, .version = absl::GetFlag(FLAGS_version)};
  if (options.version) return options;
  if (!line.words.empty() && (line.words[0] == "help" || line.words[0] == "-h")) {
    options.help = true;
    line.words.erase(line.words.begin());
  }
  if (options.help) {
    if (!line.words.empty()) {
      ACCELD_ASSIGN_OR_RETURN(options.command, ParseCommand(line.words[0]));
    }
    return options;
  }

  ACCELD_RETURN_IF_ERROR(ReadWords(line.words, options));
  ACCELD_RETURN_IF_ERROR(ReadDevice(options));
  options.json = absl::GetFlag(FLAGS_json);
  options.endpoint = absl::GetFlag(FLAGS_endpoint);
  if (!options.endpoint.empty()) {
    ACCELD_RETURN_IF_ERROR(ParseEndpoint(options.endpoint).status());
  }
  options.connect.client_name = "accelctl";
  options.connect.timeout = absl::GetFlag(FLAGS_timeout);
  if (options.connect.timeout <= absl::ZeroDuration() ||
      options.connect.timeout > kLongestTimeout) {
    return InvalidArgument(fmt::format("Flag --timeout is {}; it must be above 0 and at most {}.",
                                       absl::FormatDuration(options.connect.timeout),
                                       absl::FormatDuration(kLongestTimeout)));
  }
  return options;
}

}  // namespace acceld::accelctl
