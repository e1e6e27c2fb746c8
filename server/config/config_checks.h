// The checks of single settings, shared by the configuration file and the flags.
//
// Each takes the setting's name as its writer knows it, such as "limits.max_sessions" or "Flag
// --backend", and starts its error, an invalid argument, with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/core/enum_table.h"
#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {

// Inclusive.
struct Range {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
};

inline constexpr Range kDrainTimeoutMsRange{0, 3600000};
inline constexpr Range kCpuThreadsRange{0, 1024};

// `message` with '?' for control characters, which a flag or a binary file may have brought in: one
// line, and nothing that moves a terminal's cursor.
std::string OneLine(std::string_view message);

absl::Status CheckRange(std::string_view name, std::uint64_t value, Range range);

// The enum's value that `text` names.
template <typename E>
absl::StatusOr<E> ParseChoice(std::string_view name, std::string_view text) {
  if (const std::optional<E> value = Parse<E>(text)) return *value;
  std::string allowed;
  for (const auto& entry : EnumTable<E>::kEntries) {
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", entry.name);
  }
  return InvalidArgument(fmt::format("{} is \"{}\"; it must be one of: {}.", name, text, allowed));
}

// `text` is HOST:PORT.
absl::Status CheckListen(std::string_view name, std::string_view text);

// `text` is an identity, "uid:NUMBER" or "tcp:ADDRESS".
absl::Status CheckIdentity(std::string_view name, std::string_view text);

}  // namespace acceld
