#include "tests/bench/harness/client.h"

#include <atomic>
#include <string_view>
#include <utility>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld::bench {

namespace {

bool IsTcp(Route route) { return route == Route::kTcpFrames || route == Route::kTcpGrpc; }

// As endpoints and session descriptions spell it.
std::string_view TransportOf(Route route) {
  switch (route) {
    case Route::kShm:
      return "shm";
    case Route::kUnixFrames:
    case Route::kTcpFrames:
      return "frames";
    case Route::kUnixGrpc:
    case Route::kTcpGrpc:
      return "grpc";
  }
  return "";
}

}  // namespace

std::string EndpointOf(const testing::DaemonProcess& daemon, Route route) {
  return fmt::format("{}?transport={}",
                     IsTcp(route) ? daemon.tcp_endpoint() : daemon.unix_endpoint(),
                     TransportOf(route));
}

std::unique_ptr<testing::DaemonProcess> StartDaemon(std::optional<int> core,
                                                    std::vector<std::string> flags) {
  flags.push_back("--log_level=warning");
  return testing::DaemonProcess::Start(std::move(flags), core);
}

absl::StatusOr<std::unique_ptr<RemoteBackend>> Open(const testing::DaemonProcess& daemon,
                                                    Route route, const ConnectOptions& options) {
  auto backend = std::make_unique<RemoteBackend>(EndpointOf(daemon, route), options);
  ACCELD_RETURN_IF_ERROR(backend->Init());
  // A figure must not be another route's.
  const std::string& transport_in_use = backend->session().transport;
  if (transport_in_use.starts_with(TransportOf(route))) return backend;
  return UnsupportedError(fmt::format("The session's transport is \"{}\", not \"{}\".",
                                      transport_in_use, TransportOf(route)));
}

absl::StatusOr<Address> AllocTouched(ComputeBackend& backend, std::uint64_t bytes) {
  ACCELD_ASSIGN_OR_RETURN(const Address address, backend.Alloc(bytes));
  ACCELD_RETURN_IF_ERROR(backend.Memset(address, 1, bytes));
  ACCELD_RETURN_IF_ERROR(backend.Synchronize());
  return address;
}

absl::Status RoundTrip(CommandChannel& channel) { return Pipeline(channel, 1); }

absl::Status Pipeline(CommandChannel& channel, int count) {
  std::atomic<int> finished = 0;
  std::atomic<int> failed = 0;
  for (int i = 0; i < count; ++i) {
    channel.WaitForRoom();
    const auto done = [&](const CommandResult& result) {
      if (!result.status.ok()) failed.fetch_add(1, std::memory_order_relaxed);
      finished.fetch_add(1, std::memory_order_release);
    };
    channel.Send({.action = command::NoOp{}}, done, /*waits=*/i == count - 1);
  }
  channel.Wait([&] { return finished.load(std::memory_order_acquire) == count; });
  if (failed == 0) return absl::OkStatus();
  return DeviceError(fmt::format("{} of {} empty commands failed.", failed.load(), count));
}

}  // namespace acceld::bench
