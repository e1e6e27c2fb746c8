// What it costs to have the card do next to nothing: a unary op on 64 elements, by a bare launch of
// the same kernel, by acceld in process, and through the daemon. Pipelined, which is the time an op
// takes of a long row of them, and as round trips, each with a wait for its end.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backends/core/status.h"
#include "tests/bench/cuda/card.h"
#include "tests/bench/cuda/figures.h"
#include "tests/bench/harness/client.h"

namespace acceld::bench {
namespace {

constexpr std::int64_t kElements = 64;
constexpr int kPipelined = 10'000;
constexpr int kRoundTrips = 500;
// Of a program.
constexpr int kOps = 100;
constexpr int kReplays = 100;

enum class Row { kPipelined, kRoundTrips };

// `wait` behind each, or once behind them all.
absl::StatusOr<Measurement> Measure(const Setting& setting, Row row, const Side& side) {
  if (row == Row::kPipelined) return MeasureTime(setting, kPipelined, side);
  return MeasureTime(setting, kRoundTrips,
                     {.submit =
                          [&] {
                            ACCELD_RETURN_IF_ERROR(side.submit());
                            return side.wait();
                          },
                      .wait = [] { return absl::OkStatus(); }});
}

absl::StatusOr<Measurement> Bare(const Setting& setting, Row row) {
  ACCELD_ASSIGN_OR_RETURN(const std::unique_ptr<Direct> direct, OpenDirect());
  ACCELD_ASSIGN_OR_RETURN(float* const x, RandomArray<float>(*direct, kElements));
  const cuda::Kernel kernel = cuda::UnaryKernel(UnaryOp::kRelu, kElements, x, x);
  return Measure(setting, row, OnDirect(*direct, 1, [&] { return direct->Launch(kernel); }));
}

absl::Status SubmitOp(ComputeBackend& backend, Address x) {
  return backend.Unary({.op = UnaryOp::kRelu, .n = kElements, .input = x, .output = x});
}

absl::StatusOr<Measurement> On(const Setting& setting, Row row, ComputeBackend& backend) {
  ACCELD_ASSIGN_OR_RETURN(const Address x, RandomArray<float>(backend, kElements));
  return Measure(setting, row, OnBackend(backend, 1, [&] { return SubmitOp(backend, x); }));
}

absl::StatusOr<Measurement> InProcess(const Setting& setting, Row row) {
  ACCELD_ASSIGN_OR_RETURN(const auto backend, OpenCard());
  return On(setting, row, *backend);
}

std::unique_ptr<testing::DaemonProcess> StartDaemonWithCard() {
  return StartDaemon(std::nullopt, {std::string("--plugin_folder=") + kPluginFolder});
}

absl::StatusOr<Measurement> ThroughDaemon(const Setting& setting, Row row, Route route) {
  const auto daemon = StartDaemonWithCard();
  ACCELD_ASSIGN_OR_RETURN(const auto backend,
                          Open(*daemon, route, {.kind = BackendKind::kCuda, .ordinal = 0}));
  return On(setting, row, *backend);
}

// An op of a program of 100, which the card runs as a graph, through the daemon.
absl::StatusOr<Measurement> InProgram(const Setting& setting) {
  const auto daemon = StartDaemonWithCard();
  ACCELD_ASSIGN_OR_RETURN(const auto backend,
                          Open(*daemon, Route::kShm, {.kind = BackendKind::kCuda, .ordinal = 0}));
  ACCELD_ASSIGN_OR_RETURN(const Address x, RandomArray<float>(*backend, kElements));
  ACCELD_RETURN_IF_ERROR(backend->BeginRecording(kDefaultStream));
  for (int i = 0; i < kOps; ++i) ACCELD_RETURN_IF_ERROR(SubmitOp(*backend, x));
  ACCELD_ASSIGN_OR_RETURN(const acceld::Program program, backend->EndRecording(kDefaultStream));
  ACCELD_ASSIGN_OR_RETURN(Measurement measured,
                          MeasureTime(setting, kReplays, OnBackend(*backend, 1, [&] {
                                        return backend->Replay(program);
                                      })));
  for (double* const time : {&measured.value, &measured.low, &measured.high}) *time /= kOps;
  return measured;
}

Figure Of(const char* name, std::function<absl::StatusOr<Measurement>(const Setting&)> measure) {
  return {name, "us", "", std::move(measure)};
}

}  // namespace

std::vector<Figure> CardLaunchFigures() {
  using enum Row;
  const auto bare = [](Row row) {
    return [row](const Setting& setting) { return Bare(setting, row); };
  };
  const auto in_process = [](Row row) {
    return [row](const Setting& setting) { return InProcess(setting, row); };
  };
  const auto through_daemon = [](Row row, Route route) {
    return [=](const Setting& setting) { return ThroughDaemon(setting, row, route); };
  };
  return {Of("launch_pipelined_bare_us", bare(kPipelined)),
          Of("launch_pipelined_in_process_us", in_process(kPipelined)),
          Of("launch_pipelined_shm_us", through_daemon(kPipelined, Route::kShm)),
          Of("launch_pipelined_tcp_us", through_daemon(kPipelined, Route::kTcpFrames)),
          Of("launch_round_trip_bare_us", bare(kRoundTrips)),
          Of("launch_round_trip_in_process_us", in_process(kRoundTrips)),
          Of("launch_round_trip_shm_us", through_daemon(kRoundTrips, Route::kShm)),
          Of("launch_program_op_shm_us", InProgram)};
}

}  // namespace acceld::bench
