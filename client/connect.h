// Opens a backend on a daemon.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "backends/compute_backend.h"
#include "backends/core/values.h"

namespace acceld {

struct ConnectOptions {
  // The kind of device; any by default, which is the best the daemon has.
  std::optional<BackendKind> kind{};
  // The device's number among those of its kind.
  std::optional<int> ordinal{};
  // The device's UUID.
  std::optional<std::string> uuid{};
  // A label for the daemon's logs and listings, at most 64 bytes. The program's name by default.
  std::string client_name{};
  // How long to wait for the daemon to answer.
  absl::Duration timeout = absl::Seconds(10);
  // Told in one line, without its end, where a session was opened, how its commands travel, and why
  // not in a better way. By default the line goes to standard error where the environment variable
  // ACCELD_LOG is set and not empty, else nowhere.
  std::function<void(std::string_view line)> log{};
};

// Connects to the daemon at `endpoint`, opens a session on it, and returns an initialized backend,
// whose memory, streams and events live until it is destroyed.
//
// `endpoint` is `unix:/path`, `host:port` or `[::1]:port`. Commands and bytes travel in the best
// way there is: shared memory, where the daemon is on this host and the endpoint is its Unix
// socket; frames on that socket, or on TCP; gRPC. `?transport=` behind the endpoint, with `shm`,
// `frames` or `grpc`, allows only that one; `best` is the default. `ConnectOptions::log` and
// `accelctl sessions` show which one it is.
//
// If `endpoint` is empty, the first that is there
// of: the environment variable ACCELD_ENDPOINT; the user's socket,
// $XDG_RUNTIME_DIR/acceld/acceld.sock; the system's, /run/acceld/acceld.sock.
//
// Errors: invalid argument where the endpoint has none of these forms; kUnavailable where no daemon
// answers, naming what was tried and how to start one; unsupported where the daemon has no such
// device, or shares no memory though the endpoint asks for it.
absl::StatusOr<std::unique_ptr<ComputeBackend>> Connect(std::string_view endpoint = {},
                                                        const ConnectOptions& options = {});

}  // namespace acceld
