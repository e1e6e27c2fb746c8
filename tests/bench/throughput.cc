// How many commands a second one client gets through, pipelined.

#include "backends/core/status.h"
#include "tests/bench/figures.h"
#include "tests/bench/harness/client.h"
#include "tests/bench/harness/clock.h"

namespace acceld::bench {
namespace {

constexpr int kRounds = 15;
constexpr int kCommands = 200'000;
constexpr std::uint64_t kElements = 64;

// Empty commands, each with its own completion.
absl::StatusOr<Measurement> Commands(const Setting& setting, Route route) {
  const auto daemon = StartDaemon();
  ACCELD_ASSIGN_OR_RETURN(const auto backend, Open(*daemon, route));
  const int commands = setting.Repeats(kCommands);
  return MeasureRounds(setting.Rounds(kRounds), [&]() -> absl::StatusOr<double> {
    ACCELD_ASSIGN_OR_RETURN(const double seconds,
                            Seconds([&] { return Pipeline(backend->channel(), commands); }));
    return commands / seconds;
  });
}

absl::StatusOr<Measurement> CommandsShm(const Setting& setting) {
  return Commands(setting, Route::kShm);
}

absl::StatusOr<Measurement> CommandsTcp(const Setting& setting) {
  return Commands(setting, Route::kTcpFrames);
}

absl::StatusOr<Measurement> CommandsGrpc(const Setting& setting) {
  return Commands(setting, Route::kUnixGrpc);
}

// Unary ops on 64 elements, then one Synchronize.
absl::StatusOr<Measurement> SmallOpsShm(const Setting& setting) {
  const auto daemon = StartDaemon();
  ACCELD_ASSIGN_OR_RETURN(const auto backend, Open(*daemon, Route::kShm));
  ACCELD_ASSIGN_OR_RETURN(const Address x, AllocTouched(*backend, kElements * sizeof(float)));
  const int ops = setting.Repeats(kCommands);
  const auto burst = [&] {
    for (int i = 0; i < ops; ++i) {
      ACCELD_RETURN_IF_ERROR(
          backend->Unary({.op = UnaryOp::kRelu, .n = kElements, .input = x, .output = x}));
    }
    return backend->Synchronize();
  };
  return MeasureRounds(setting.Rounds(kRounds), [&]() -> absl::StatusOr<double> {
    ACCELD_ASSIGN_OR_RETURN(const double seconds, Seconds(burst));
    return ops / seconds;
  });
}

}  // namespace

std::vector<Figure> ThroughputFigures() {
  return {{"commands_per_second_shm", "1/s", "", CommandsShm},
          {"commands_per_second_tcp", "1/s", "", CommandsTcp},
          {"commands_per_second_grpc", "1/s", "", CommandsGrpc},
          {"small_ops_per_second_shm", "1/s", "", SmallOpsShm}};
}

}  // namespace acceld::bench
