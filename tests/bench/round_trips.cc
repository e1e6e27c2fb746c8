// How long one command takes, from the call to its completion, one after another. Client, daemon
// and the baselines' other ends have a core each.

#include <chrono>
#include <memory>
#include <thread>

#include "backends/core/status.h"
#include "tests/bench/baseline/grpc_unary.h"
#include "tests/bench/baseline/ping_pong.h"
#include "tests/bench/figures.h"
#include "tests/bench/harness/client.h"
#include "tests/bench/harness/clock.h"
#include "tests/bench/harness/cores.h"

namespace acceld::bench {
namespace {

constexpr int kRounds = 31;
constexpr int kTrips = 1000;
// Those that take 0.1 ms and more.
constexpr int kSlowTrips = 200;

constexpr std::uint64_t kElements = 64;
constexpr std::uint64_t kAllocBytes = 4096;
constexpr std::chrono::milliseconds kSilence{100};

struct PinnedClient {
  std::unique_ptr<testing::DaemonProcess> daemon;
  std::unique_ptr<RemoteBackend> backend;
};

absl::StatusOr<PinnedClient> OpenPinned(const Setting& setting, Route route) {
  // First, so that the threads of the client library are there as well.
  ACCELD_RETURN_IF_ERROR(PinToCore(setting.client_core));
  PinnedClient client;
  client.daemon = StartDaemon(setting.daemon_core);
  ACCELD_ASSIGN_OR_RETURN(client.backend, Open(*client.daemon, route));
  return client;
}

// The mean time of an empty command and its completion, through session, scheduler and device.
absl::StatusOr<Measurement> Shm(const Setting& setting) {
  ACCELD_ASSIGN_OR_RETURN(const PinnedClient client, OpenPinned(setting, Route::kShm));
  return MeasureRounds(setting.Rounds(kRounds), [&] {
    return MeanMicroseconds(setting.Repeats(kTrips),
                            [&] { return RoundTrip(client.backend->channel()); });
  });
}

// The time of one empty command after silence in which both sides have gone to sleep.
absl::StatusOr<Measurement> ShmCold(const Setting& setting) {
  ACCELD_ASSIGN_OR_RETURN(const PinnedClient client, OpenPinned(setting, Route::kShm));
  return MeasureRounds(setting.Rounds(51), [&] {
    std::this_thread::sleep_for(kSilence);
    return MeanMicroseconds(1, [&] { return RoundTrip(client.backend->channel()); });
  });
}

// The mean time of a unary op on 64 elements and Synchronize.
absl::StatusOr<Measurement> OpShm(const Setting& setting) {
  ACCELD_ASSIGN_OR_RETURN(const PinnedClient client, OpenPinned(setting, Route::kShm));
  RemoteBackend& backend = *client.backend;
  ACCELD_ASSIGN_OR_RETURN(const Address x, AllocTouched(backend, kElements * sizeof(float)));
  const auto trip = [&] {
    ACCELD_RETURN_IF_ERROR(
        backend.Unary({.op = UnaryOp::kRelu, .n = kElements, .input = x, .output = x}));
    return backend.Synchronize();
  };
  return MeasureRounds(setting.Rounds(kRounds),
                       [&] { return MeanMicroseconds(setting.Repeats(kTrips), trip); });
}

// An empty command over shared memory against one in a unary gRPC call over the Unix socket.
absl::StatusOr<Measurement> ShmAgainstGrpcUnary(const Setting& setting) {
  ACCELD_ASSIGN_OR_RETURN(const PinnedClient client, OpenPinned(setting, Route::kShm));
  ACCELD_ASSIGN_OR_RETURN(GrpcUnary unary, GrpcUnary::Start(client.daemon->unix_endpoint()));
  return MeasurePairs(
      setting.Rounds(kRounds),
      [&] {
        return MeanMicroseconds(setting.Repeats(kTrips),
                                [&] { return RoundTrip(client.backend->channel()); });
      },
      [&] {
        return MeanMicroseconds(setting.Repeats(kSlowTrips), [&] { return unary.RoundTrip(); });
      });
}

// An empty command in frames against 64 bytes there and back over a bare socket of the same kind.
absl::StatusOr<Measurement> FramesAgainstRaw(const Setting& setting, Route route, SocketKind kind) {
  ACCELD_RETURN_IF_ERROR(PinToCore(setting.client_core));
  ACCELD_ASSIGN_OR_RETURN(PingPong raw, PingPong::Start(kind, setting.daemon_core));
  ACCELD_ASSIGN_OR_RETURN(const PinnedClient client, OpenPinned(setting, route));
  const int trips = setting.Repeats(kTrips);
  return MeasurePairs(
      setting.Rounds(kRounds),
      [&] { return MeanMicroseconds(trips, [&] { return RoundTrip(client.backend->channel()); }); },
      [&] { return MeanMicroseconds(trips, [&] { return raw.RoundTrip(); }); });
}

absl::StatusOr<Measurement> UnixAgainstRaw(const Setting& setting) {
  return FramesAgainstRaw(setting, Route::kUnixFrames, SocketKind::kUnix);
}

absl::StatusOr<Measurement> TcpAgainstRaw(const Setting& setting) {
  return FramesAgainstRaw(setting, Route::kTcpFrames, SocketKind::kTcp);
}

// The mean time of an Alloc of 4 KiB and its Free.
absl::StatusOr<Measurement> AllocFreeShm(const Setting& setting) {
  ACCELD_ASSIGN_OR_RETURN(const PinnedClient client, OpenPinned(setting, Route::kShm));
  const auto trip = [&] {
    ACCELD_ASSIGN_OR_RETURN(const Address address, client.backend->Alloc(kAllocBytes));
    return client.backend->Free(address);
  };
  return MeasureRounds(setting.Rounds(kRounds),
                       [&] { return MeanMicroseconds(setting.Repeats(kTrips), trip); });
}

}  // namespace

std::vector<Figure> RoundTripFigures() {
  return {{"roundtrip_shm_us", "us", "", Shm},
          {"roundtrip_shm_cold_us", "us", "", ShmCold},
          {"roundtrip_op_shm_us", "us", "", OpShm},
          {"roundtrip_shm_vs_grpc_unary", "ratio", "us", ShmAgainstGrpcUnary},
          {"roundtrip_unix_vs_raw", "ratio", "us", UnixAgainstRaw},
          {"roundtrip_tcp_vs_raw", "ratio", "us", TcpAgainstRaw},
          {"alloc_free_shm_us", "us", "", AllocFreeShm}};
}

}  // namespace acceld::bench
