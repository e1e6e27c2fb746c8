#include "tests/bench/harness/figure.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/time/clock.h"
#include "backends/core/status.h"
#include "backends/core/unique_fd.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "tests/bench/harness/report.h"

namespace acceld::bench {
namespace {

// In the child: measures, and writes the answer as JSON.
[[noreturn]] void Answer(const Figure& figure, const Setting& setting, int output) {
  // It must not outlive a benchmark that is killed; nor does its daemon outlive it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const absl::StatusOr<Measurement> measured = figure.measure(setting);
  nlohmann::json answer;
  if (measured.ok()) {
    answer = ToJson(*measured);
  } else {
    answer["code"] = measured.status().raw_code();
    answer["message"] = std::string(measured.status().message());
  }
  const std::string text = answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // The answer is shorter than what a pipe takes at once.
  const bool written = write(output, text.data(), text.size()) == ssize_t(text.size());
  std::_Exit(written ? EXIT_SUCCESS : EXIT_FAILURE);
}

// Everything that is written to `input` until its other end is closed.
absl::StatusOr<std::string> ReadAnswer(int input, absl::Duration limit) {
  const absl::Time end = absl::Now() + limit;
  std::string text;
  while (true) {
    pollfd readable = {.fd = input, .events = POLLIN, .revents = 0};
    const absl::Duration left = std::max(end - absl::Now(), absl::ZeroDuration());
    if (poll(&readable, 1, static_cast<int>(absl::ToInt64Milliseconds(left))) <= 0) {
      return absl::DeadlineExceededError(
          fmt::format("It is not done after {}.", absl::FormatDuration(limit)));
    }
    char buffer[4096];
    const ssize_t bytes = read(input, buffer, sizeof buffer);
    if (bytes <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(bytes));
  }
}

absl::StatusOr<Measurement> ParseAnswer(const std::string& text) {
  const nlohmann::json answer = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (answer.is_discarded()) return DeviceError("Its process ended without an answer.");
  if (answer.contains("message")) {
    return absl::Status(static_cast<absl::StatusCode>(answer["code"].get<int>()),
                        answer["message"].get<std::string>());
  }
  return FromJson(answer);
}

}  // namespace

absl::StatusOr<Measurement> MeasureInChild(const Figure& figure, const Setting& setting,
                                           absl::Duration limit) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "There is no pipe.");
  UniqueFd input(ends[0]);
  UniqueFd output(ends[1]);
  const pid_t child = fork();
  if (child < 0) return absl::ErrnoToStatus(errno, "There is no process.");
  if (child == 0) Answer(figure, setting, output.get());
  output.Reset();
  const absl::StatusOr<std::string> text = ReadAnswer(input.get(), limit);
  if (!text.ok()) kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ACCELD_RETURN_IF_ERROR(text.status());
  return ParseAnswer(*text);
}

}  // namespace acceld::bench
