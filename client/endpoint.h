// Where a daemon is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/core/enum_table.h"

namespace acceld {

// How a session's commands travel. kBest is the first of the others that can be had.
enum class Transport : std::uint8_t { kBest = 1, kSharedMemory, kFrames, kGrpc };

template <>
struct EnumTable<Transport> {
  static constexpr std::array<EnumEntry<Transport>, 4> kEntries{{
      {Transport::kBest, "best"},
      {Transport::kSharedMemory, "shm"},
      {Transport::kFrames, "frames"},
      {Transport::kGrpc, "grpc"},
  }};
};

struct Endpoint {
  // As gRPC wants it: "unix:/run/acceld/acceld.sock" or "dns:///host:port".
  std::string grpc_target{};
  // One of the two: the path of a Unix socket, or a host, without brackets, and its port.
  std::string unix_path{};
  std::string host{};
  std::string port{};
  Transport transport = Transport::kBest;
  // As a person wrote it.
  std::string text{};

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// Parses `unix:/path`, `host:port` or `[::1]:port`, any of them with `?transport=` and a
// Transport's name behind it; an invalid argument for anything else.
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
