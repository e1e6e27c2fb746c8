// HOST:PORT, as flags and configuration write it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace acceld {

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};

// Splits "127.0.0.1:0", "localhost:8080" or "[::1]:8080". Invalid argument for anything else, such
// as a missing host or port, a port above 65535, or an IPv6 address without brackets. Does not look
// the host up.
absl::StatusOr<HostPort> ParseHostPort(std::string_view text);

}  // namespace acceld
