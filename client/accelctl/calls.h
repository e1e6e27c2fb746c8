// The calls that accelctl makes. Each makes a connection of its own and opens no session.
//
// Errors are sentences for the user: no daemon answers (kUnavailable, naming what was tried), it
// does not answer in time, or it refuses.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "acceld/v1/compute.pb.h"
#include "client/health.pb.h"

namespace acceld::accelctl {

struct Target {
  // Empty for the defaults of acceld::Connect.
  std::string endpoint;
  // For connecting, and again for the call itself.
  absl::Duration timeout;
};

// A daemon's answer and where it came from.
template <typename Response>
struct Answer {
  std::string endpoint;
  Response response;
};

absl::StatusOr<Answer<v1::ServerInfo>> GetServerInfo(const Target& target);
absl::StatusOr<Answer<v1::ListSessionsResponse>> ListSessions(const Target& target);
absl::StatusOr<Answer<v1::EndSessionResponse>> EndSession(const Target& target, std::uint64_t id);
absl::StatusOr<Answer<v1::DrainResponse>> Drain(const Target& target);
absl::StatusOr<Answer<grpc::health::v1::HealthCheckResponse>> CheckHealth(const Target& target);

}  // namespace acceld::accelctl
