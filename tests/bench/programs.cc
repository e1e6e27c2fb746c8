// What recording saves: work replayed as a program against the same work submitted op by op.

#include "backends/core/status.h"
#include "tests/bench/figures.h"
#include "tests/bench/harness/client.h"
#include "tests/bench/harness/clock.h"

namespace acceld::bench {
namespace {

constexpr int kRounds = 15;
constexpr int kBursts = 500;
constexpr int kOps = 100;
constexpr std::uint64_t kElements = 64;

// 100 unary ops on 64 elements, each on the result of the one before.
absl::Status RunOps(ComputeBackend& backend, Address x) {
  for (int i = 0; i < kOps; ++i) {
    ACCELD_RETURN_IF_ERROR(
        backend.Unary({.op = UnaryOp::kRelu, .n = kElements, .input = x, .output = x}));
  }
  return absl::OkStatus();
}

// The mean time of a program of 100 ops, replayed many times before one Synchronize, against that
// of the same ops one by one, as often, pipelined; over shared memory.
absl::StatusOr<Measurement> ReplayAgainstOps(const Setting& setting) {
  const auto daemon = StartDaemon();
  ACCELD_ASSIGN_OR_RETURN(const auto backend, Open(*daemon, Route::kShm));
  ACCELD_ASSIGN_OR_RETURN(const Address x, AllocTouched(*backend, kElements * sizeof(float)));
  ACCELD_RETURN_IF_ERROR(backend->BeginRecording(kDefaultStream));
  ACCELD_RETURN_IF_ERROR(RunOps(*backend, x));
  ACCELD_ASSIGN_OR_RETURN(const Program program, backend->EndRecording(kDefaultStream));

  const int bursts = setting.Repeats(kBursts);
  // In microseconds a burst of 100 ops.
  const auto measure = [&](auto&& burst) -> absl::StatusOr<double> {
    ACCELD_ASSIGN_OR_RETURN(const double microseconds, MeanMicroseconds(1, [&] {
                              for (int i = 0; i < bursts; ++i) ACCELD_RETURN_IF_ERROR(burst());
                              return backend->Synchronize();
                            }));
    return microseconds / bursts;
  };
  return MeasurePairs(
      setting.Rounds(kRounds), [&] { return measure([&] { return backend->Replay(program); }); },
      [&] { return measure([&] { return RunOps(*backend, x); }); });
}

}  // namespace

std::vector<Figure> ProgramFigures() {
  return {{"program_replay_vs_ops", "ratio", "us", ReplayAgainstOps}};
}

}  // namespace acceld::bench
