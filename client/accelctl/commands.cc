#include "client/accelctl/commands.h"

#include <utility>

#include "backends/core/status.h"
#include "client/accelctl/calls.h"
#include "client/accelctl/json.h"
#include "client/accelctl/selftest_report.h"
#include "client/accelctl/text.h"
#include "client/remote_backend.h"
#include "fmt/format.h"

namespace acceld::accelctl {
namespace {

using grpc::health::v1::HealthCheckResponse;

// A daemon's answer as the user wants it: in JSON, or as `to_text(answer)`.
template <typename Response, typename ToText>
CommandResult Show(const Options& options, const absl::StatusOr<Answer<Response>>& answer,
                   ToText to_text) {
  if (!answer.ok()) return {.status = answer.status()};
  if (!options.json) return {.output = to_text(*answer)};
  absl::StatusOr<std::string> json = ToJson(answer->response);
  if (!json.ok()) return {.status = json.status()};
  return {.output = *std::move(json)};
}

CommandResult Health(const Options& options, const Target& target) {
  const auto answer = CheckHealth(target);
  const auto name = [](HealthCheckResponse::ServingStatus status) {
    const std::string& known = HealthCheckResponse::ServingStatus_Name(status);
    return known.empty() ? fmt::format("{}", static_cast<int>(status)) : known;
  };
  CommandResult result = Show(
      options, answer, [&name](const auto& shown) { return name(shown.response.status()) + "\n"; });
  if (!result.status.ok() || answer->response.status() == HealthCheckResponse::SERVING) {
    return result;
  }
  result.status = absl::UnavailableError(
      fmt::format("The daemon at {} is {}. `accelctl info` shows whether it is draining; its log "
                  "says why it does not serve.",
                  answer->endpoint, name(answer->response.status())));
  return result;
}

absl::StatusOr<SelftestReport> RunSelftest(const Options& options) {
  RemoteBackend backend(options.endpoint, options.connect);
  ACCELD_RETURN_IF_ERROR(backend.Init());
  SelftestReport report{
      .device = backend.session().device, .transport = backend.session().transport, .results = {}};
  for (const SelftestCase& test : SelftestCases()) {
    report.results.push_back(RunCase(backend, test));
    // Where the connection is lost, the other cases say nothing of the device.
    const absl::Status connection = backend.Synchronize();
    if (absl::IsUnavailable(connection)) return connection;
  }
  return report;
}

CommandResult Selftest(const Options& options) {
  const absl::StatusOr<SelftestReport> report = RunSelftest(options);
  if (!report.ok()) return {.status = report.status()};
  return {.output = options.json ? SelftestJson(*report) : SelftestText(*report),
          .status = Verdict(report->results)};
}

}  // namespace

CommandResult RunCommand(const Options& options) {
  const Target target{.endpoint = options.endpoint, .timeout = options.connect.timeout};
  switch (*options.command) {
    case Command::kInfo:
      return Show(options, GetServerInfo(target),
                  [](const auto& answer) { return InfoText(answer.response, answer.endpoint); });
    case Command::kDevices:
      return Show(options, GetServerInfo(target),
                  [](const auto& answer) { return DevicesText(answer.response); });
    case Command::kSessions:
      return Show(options, ListSessions(target),
                  [](const auto& answer) { return SessionsText(answer.response); });
    case Command::kHealth:
      return Health(options, target);
    case Command::kSelftest:
      return Selftest(options);
    case Command::kDrain:
      return Show(options, Drain(target), [](const auto& answer) {
        return fmt::format("The daemon at {} is draining; open sessions: {}.\n", answer.endpoint,
                           answer.response.session_count());
      });
    case Command::kEnd:
      return Show(options, EndSession(target, options.session_id), [&options](const auto&) {
        return fmt::format("Session {} is ended.\n", options.session_id);
      });
  }
  return {.status = InvalidArgument("The command is unknown.")};
}

}  // namespace acceld::accelctl
