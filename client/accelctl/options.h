// What accelctl is asked to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/core/enum_table.h"
#include "client/connect.h"

namespace acceld {
namespace accelctl {

enum class Command : std::uint8_t {
  kInfo = 1,
  kDevices = 2,
  kSessions = 3,
  kHealth = 4,
  kSelftest = 5,
  kDrain = 6,
  kEnd = 7,
};

struct Options {
  // None where only the help or the version is wanted.
  std::optional<Command> command{};
  bool help = false;
  bool version = false;

  // Empty for the defaults of Connect.
  std::string endpoint{};
  // How to connect; the device is selftest's.
  ConnectOptions connect{};
  bool json = false;
  // Of `end`.
  std::uint64_t session_id = 0;
};

// Reads the arguments that follow the program's name, through process-wide flags. An error is an
// invalid argument and the user's mistake.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments);

}  // namespace accelctl

template <>
struct EnumTable<accelctl::Command> {
  static constexpr std::array<EnumEntry<accelctl::Command>, 7> kEntries{{
      {accelctl::Command::kInfo, "info"},
      {accelctl::Command::kDevices, "devices"},
      {accelctl::Command::kSessions, "sessions"},
      {accelctl::Command::kHealth, "health"},
      {accelctl::Command::kSelftest, "selftest"},
      {accelctl::Command::kDrain, "drain"},
      {accelctl::Command::kEnd, "end"},
  }};
};

}  // namespace acceld
