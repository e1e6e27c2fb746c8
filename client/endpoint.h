// Where a daemon is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace acceld {

struct Endpoint {
  // As gRPC wants it: "unix:/run/acceld/acceld.sock" or "dns:///host:port".
  std::string grpc_target;
  // As a person wrote it.
  std::string text;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// Parses `unix:/path`, `host:port` or `[::1]:port`; an invalid argument for anything else.
absl::StatusOr<Endpoint> ParseEndpoint(std::string_view text);

// A place where a daemon may be, and where that comes from, for people.
struct Candidate {
  std::string endpoint;
  std::string origin;
};

// The endpoints to try, in order, where the caller names none: only ACCELD_ENDPOINT if that is set,
// else the user's socket, if there can be one, and the system's. The arguments are the values of
// ACCELD_ENDPOINT and XDG_RUNTIME_DIR, null where not set.
std::vector<Candidate> DefaultEndpoints(const char* acceld_endpoint, const char* runtime_dir);

}  // namespace acceld
