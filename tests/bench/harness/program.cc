#include "tests/bench/harness/program.h"

#include <regex.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string_view>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "backends/core/status.h"
#include "client/command_line.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "tests/bench/harness/cores.h"
#include "tests/bench/harness/report.h"

// tests/bench/run --help describes them.
ABSL_FLAG(std::string, json, "", "");
ABSL_FLAG(std::string, filter, "", "");
ABSL_FLAG(bool, quick, false, "");
ABSL_FLAG(absl::Duration, total_limit, absl::ZeroDuration(), "");

namespace acceld::bench {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

// Between figures, in parts of the time the last one took, and at most.
constexpr double kRestPart = 0.5;
constexpr absl::Duration kMaxRest = absl::Seconds(2);

int Fail(int exit_code, std::string_view message) {
  fmt::print(stderr, "bench: {}\n", message);
  return exit_code;
}

absl::StatusOr<std::vector<Figure>> MatchingFigures(const std::vector<Figure>& figures,
                                                    const std::string& filter) {
  regex_t regex;
  if (regcomp(&regex, filter.c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
    return InvalidArgument(
        fmt::format("Flag --filter is \"{}\", which is no regular expression.", filter));
  }
  std::vector<Figure> matching;
  std::string names;
  for (const Figure& figure : figures) {
    names += " " + figure.name;
    if (regexec(&regex, figure.name.c_str(), 0, nullptr, 0) == 0) matching.push_back(figure);
  }
  regfree(&regex);
  if (!matching.empty()) return matching;
  return InvalidArgument(
      fmt::format("Flag --filter is \"{}\", which matches none of{}.", filter, names));
}

void Print(const Figure& figure, const Measurement& measured, absl::Duration time) {
  fmt::print("{} {} {}\n", figure.name, FormatValue(measured.value), figure.unit);
  std::fflush(stdout);
  std::string sides;
  if (measured.numerator.has_value() && measured.denominator.has_value()) {
    sides = fmt::format("; {} against {} {}", FormatValue(*measured.numerator),
                        FormatValue(*measured.denominator), figure.sides_unit);
  }
  fmt::print(stderr, "  quartiles {} and {}, {} rounds{}; took {:.1f} s\n",
             FormatValue(measured.low), FormatValue(measured.high), measured.rounds, sides,
             absl::ToDoubleSeconds(time));
}

// Prints each figure as soon as it is measured; the JSON list of them all.
nlohmann::json MeasureAll(const Program& program, const std::vector<Figure>& figures,
                          const Setting& setting) {
  const absl::Duration limit = absl::GetFlag(FLAGS_total_limit);
  const absl::Time end = absl::Now() + (limit > absl::ZeroDuration() ? limit : program.total_limit);
  nlohmann::json list = nlohmann::json::array();
  absl::Duration rest = absl::ZeroDuration();
  for (const Figure& figure : figures) {
    absl::SleepFor(rest);
    const absl::Time start = absl::Now();
    const absl::Duration left = std::max(end - start, absl::ZeroDuration());
    const absl::StatusOr<Measurement> measured =
        MeasureInChild(figure, setting, std::min(program.figure_limit, left));
    if (program.rests && !setting.quick) {
      rest = std::min(kMaxRest, kRestPart * (absl::Now() - start));
    }
    if (!measured.ok()) {
      Fail(kExitFailed, fmt::format("{} cannot be measured. {}", figure.name,
                                    std::string(measured.status().message())));
      continue;
    }
    Print(figure, *measured, absl::Now() - start);
    list.push_back(ToJson(figure, *measured));
  }
  return list;
}

}  // namespace

int RunProgram(const Program& program, const std::vector<Figure>& all,
               const std::vector<std::string>& arguments) {
  const absl::StatusOr<CommandLine> line = ParseCommandLine(arguments);
  if (!line.ok()) return Fail(kExitUsage, std::string(line.status().message()));
  if (!line->words.empty()) {
    return Fail(kExitUsage, fmt::format("Argument \"{}\" is no flag; --help shows the flags.",
                                        line->words.front()));
  }
  if (line->help) {
    fmt::print("{}", program.help);
    return kExitOk;
  }
  const auto figures = MatchingFigures(all, absl::GetFlag(FLAGS_filter));
  if (!figures.ok()) return Fail(kExitUsage, std::string(figures.status().message()));

  const std::vector<int> cores = UsableCores();
  if (cores.size() < 2) {
    fmt::print(stderr, "bench: There is only one core, which client and daemon share.\n");
  }
  const nlohmann::json list = MeasureAll(program, *figures,
                                         {.quick = absl::GetFlag(FLAGS_quick),
                                          .client_core = cores.front(),
                                          .daemon_core = cores.back()});
  const std::string path = absl::GetFlag(FLAGS_json);
  if (!path.empty() && !(std::ofstream(path) << list.dump(2) << std::endl)) {
    return Fail(kExitFailed, fmt::format("File {} cannot be written.", path));
  }
  return list.empty() ? Fail(kExitFailed, "Nothing was measured.") : kExitOk;
}

}  // namespace acceld::bench
