// How the daemon is set up: the configuration file and the flags, checked.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/core/values.h"
#include "server/logging/logging.h"

namespace acceld {

// What clients may use up; config.proto says what each limit does and its range.
struct Limits {
  std::uint32_t max_sessions = 1024;
  std::uint32_t max_connections = 4096;
  std::uint32_t max_pending_connections = 256;
  std::chrono::milliseconds handshake_timeout{5000};
  std::uint64_t max_message_bytes = std::uint64_t{4} << 20;
  std::uint32_t max_commands_per_message = 4096;
  std::uint32_t max_in_flight_commands = 4096;
  std::uint64_t max_in_flight_bytes = std::uint64_t{64} << 20;
  std::uint32_t max_streams = 1024;
  std::uint32_t max_events = 65536;
  std::uint32_t max_allocations = 1048576;
  std::uint32_t max_programs = 1024;
  std::uint32_t max_program_items = 4096;
  std::uint64_t max_program_bytes = std::uint64_t{64} << 20;
  std::chrono::milliseconds session_idle_timeout{60000};
  std::uint64_t max_host_memory_bytes = std::uint64_t{1} << 30;
  std::uint32_t ring_bytes = 64 << 10;
  std::uint32_t staging_bytes = 2 << 20;
  std::chrono::milliseconds frame_timeout{30000};
};

// config.proto documents the fields. Everything here is in range; an address of `listen` is
// HOST:PORT, but whether it is on loopback shows only when it is listened on.
struct Config {
  // Empty: DefaultSocketPath().
  std::string socket;
  std::optional<mode_t> socket_mode;
  std::vector<std::string> listen;
  // Nothing: the best one available.
  std::optional<BackendKind> backend;

  // Empty: DefaultPluginFolders().
  std::string plugin_folder;

  // 0: one per core.
  std::uint32_t cpu_threads = 0;
  // 0: a share of the machine's memory.
  std::uint64_t cpu_memory_limit_bytes = 0;

  // 0: what a card has.
  std::uint64_t cuda_memory_limit_bytes = 0;
  bool allow_direct_opening = false;

  Limits limits;
  std::chrono::milliseconds drain_timeout{20000};

  LogLevel log_level = LogLevel::kInfo;
  // Nothing: as fits where the log goes.
  std::optional<LogFormat> log_format;

  // Identities as Peer::Identity() gives them; see IsAdmin.
  std::vector<std::string> admins;
};

}  // namespace acceld
