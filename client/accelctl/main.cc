// accelctl: asks a running acceld what it has and does, and tells it what to do.

#include <cstdio>
#include <string>
#include <string_view>

#include "client/accelctl/commands.h"
#include "client/accelctl/help.h"
#include "client/accelctl/options.h"
#include "client/accelctl/table.h"
#include "fmt/format.h"
#include "server/version.h"

namespace acceld::accelctl {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

// An error is one line, whatever is in it.
int Fail(int exit_code, std::string_view message) {
  fmt::print(stderr, "accelctl: {}\n", Printable(message));
  return exit_code;
}

int Print(const std::string& output) {
  const bool written = std::fwrite(output.data(), 1, output.size(), stdout) == output.size();
  if (written && std::fflush(stdout) == 0) return kExitOk;
  return Fail(kExitFailed, "The output cannot be written; is the disk full?");
}

int Run(const std::vector<std::string>& arguments) {
  const absl::StatusOr<Options> options = ParseOptions(arguments);
  if (!options.ok()) return Fail(kExitUsage, std::string(options.status().message()));
  if (options->version) return Print(fmt::format("accelctl {}\n", kVersion));
  if (options->help) return Print(HelpText(options->command));
  const CommandResult result = RunCommand(*options);
  const int printed = Print(result.output);
  if (!result.status.ok()) return Fail(kExitFailed, std::string(result.status.message()));
  return printed;
}

}  // namespace
}  // namespace acceld::accelctl

int main(int argc, char** argv) {
  return acceld::accelctl::Run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
