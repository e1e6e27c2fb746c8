// What the daemon allows a client. Every table and queue a client can fill has its limit here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acceld {

struct SessionLimits {
  std::uint64_t message_bytes = 4 << 20;
  std::uint32_t message_commands = 4096;
  std::uint64_t read_bytes = 1 << 20;
  std::uint32_t streams = 1024;
  std::uint32_t events = 65536;
  std::uint32_t allocations = 1 << 20;
  std::uint32_t sessions = 1024;
  // A session beyond these is not read from until some of its commands have finished.
  std::uint32_t commands_in_flight = 4096;
  std::uint64_t bytes_in_flight = 64 << 20;
  // How long a session lasts while no call holds it and none names it.
  std::uint32_t lease_ms = 60'000;
};

}  // namespace acceld
