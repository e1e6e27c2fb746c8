// Descriptions of the server for GetServerInfo and OpenSession.
#pragma once

#include <cstdint>

#include "acceld/v1/compute.pb.h"
#include "backends/registry/selection_request.h"
#include "server/session/device_pool.h"
#include "server/session/session_limits.h"

namespace acceld {

// The versions of acceld.v1 that this server speaks.
inline constexpr std::uint32_t kLowestProtocolVersion = 1;
inline constexpr std::uint32_t kHighestProtocolVersion = 1;

// The highest version that client and server both speak, or an error with VERSION_UNSUPPORTED.
absl::StatusOr<std::uint32_t> NegotiateVersion(const v1::ProtocolVersions& client);

// What OpenSession's device request asks for. An invalid argument where its kind is unknown.
absl::StatusOr<SelectionRequest> SelectionFromWire(const v1::DeviceRequest& wire);

void ToWire(const SessionLimits& limits, v1::Limits& wire);
void DescribeServer(const DevicePool& devices, const SessionLimits& limits, bool draining,
                    v1::ServerInfo& info);

}  // namespace acceld
