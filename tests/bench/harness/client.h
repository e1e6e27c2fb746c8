// A daemon and clients of it, as the figures need them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/remote_backend.h"
#include "tests/testing/daemon_process.h"

namespace acceld::bench {

// How a client gets to its daemon: the transport, and the socket.
enum class Route { kShm, kUnixFrames, kTcpFrames, kUnixGrpc, kTcpGrpc };

// The daemon's endpoint that forces `route`.
std::string EndpointOf(const testing::DaemonProcess& daemon, Route route);

// A daemon that logs only what is wrong, on `core` where one is given, with `flags` besides.
std::unique_ptr<testing::DaemonProcess> StartDaemon(std::optional<int> core = std::nullopt,
                                                    std::vector<std::string> flags = {});

// A session on `daemon`; an error where the transport cannot be had.
absl::StatusOr<std::unique_ptr<RemoteBackend>> Open(const testing::DaemonProcess& daemon,
                                                    Route route,
                                                    const ConnectOptions& options = {});

// `bytes` bytes of device memory that have been written to.
absl::StatusOr<Address> AllocTouched(ComputeBackend& backend, std::uint64_t bytes);

// Sends an empty command and waits for its completion.
absl::Status RoundTrip(CommandChannel& channel);

// Sends `count` empty commands, each with its own completion, and waits for the last.
absl::Status Pipeline(CommandChannel& channel, int count);

}  // namespace acceld::bench
