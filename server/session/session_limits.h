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
  std::uint32_t programs = 1024;
  // Of one program.
  std::uint32_t program_items = 4096;
  // What all of them take.
  std::uint64_t program_bytes = 64 << 20;
  std::uint32_t sessions = 1024;
  // A session beyond these is not read from until some of its commands have finished.
  std::uint32_t commands_in_flight = 4096;
  std::uint64_t bytes_in_flight = 64 << 20;
  // Whether openable memory may be allocated, whose descriptor a client may give to any process.
  bool direct_opening = false;
  // Host memory that a session shares with the daemon, rings included.
  std::uint64_t host_bytes = std::uint64_t{1} << 30;
  // Each of the two rings; a power of two. 0: nothing is shared.
  std::uint32_t ring_bytes = 64 << 10;
  // What a client should stage large copies in.
  std::uint32_t staging_bytes = 2 << 20;
  // How long the rest of a frame may take to come.
  std::uint32_t frame_timeout_ms = 30'000;
  // How long a session lasts while no call holds it and none names it.
  std::uint32_t lease_ms = 60'000;
};

}  // namespace acceld
