#include "client/command_line.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {
namespace {

bool IsBool(const absl::CommandLineFlag& flag) { return flag.IsOfType<bool>(); }

absl::Status Set(absl::CommandLineFlag& flag, std::string_view shown, const std::string& value) {
  std::string error;
  if (!flag.ParseFrom(value, &error)) {
    return InvalidArgument(fmt::format("Flag --{} cannot be \"{}\".", shown, value));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments) {
  CommandLine line;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with("--") || argument.size() == 2) {
      line.words.push_back(argument);
      continue;
    }
    const std::size_t equals = argument.find('=');
    const bool has_value = equals != std::string::npos;
    const std::string shown = argument.substr(2, has_value ? equals - 2 : std::string::npos);
    if (shown == "help" && !has_value) {
      line.help = true;
      continue;
    }

    std::string name = shown;
    std::replace(name.begin(), name.end(), '-', '_');
    absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
    bool on = true;
    if (flag == nullptr && name.starts_with("no") && !has_value) {
      flag = absl::FindCommandLineFlag(name.substr(2));
      if (flag != nullptr && !IsBool(*flag)) flag = nullptr;
      on = false;
    }
    if (flag == nullptr) {
      return InvalidArgument(fmt::format("Flag --{} is unknown; --help shows the flags.", shown));
    }

    if (has_value) {
      ACCELD_RETURN_IF_ERROR(Set(*flag, shown, argument.substr(equals + 1)));
    } else if (IsBool(*flag)) {
      ACCELD_RETURN_IF_ERROR(Set(*flag, shown, on ? "true" : "false"));
    } else if (i + 1 == arguments.size()) {
      return InvalidArgument(fmt::format("Flag --{} has no value.", shown));
    } else {
      ACCELD_RETURN_IF_ERROR(Set(*flag, shown, arguments[++i]));
    }
  }
  return line;
}

}  // namespace acceld
