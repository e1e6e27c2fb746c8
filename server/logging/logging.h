// The daemon's log: lines on stderr of a message and named values, as text, JSON or for journald.
//
//   Log(LogLevel::kInfo, "session opened", {{"session", id}, {"identity", peer.Identity()}});
//
// Text:     2026-01-31T12:00:00.000000Z info session opened session=3 identity=uid:1000
// JSON:     {"time":"…","level":"info","message":"session
// opened","session":3,"identity":"uid:1000"} journald: <6>session opened session=3
// identity=uid:1000
//
// A line stays one line: control characters are escaped, whatever a client put into a value.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "backends/core/enum_table.h"

namespace acceld {

enum class LogLevel : std::uint8_t { kTrace = 1, kDebug, kInfo, kWarning, kError };

enum class LogFormat : std::uint8_t { kText = 1, kJson, kJournald };

template <>
struct EnumTable<LogLevel> {
  static constexpr std::array<EnumEntry<LogLevel>, 5> kEntries{{
      {LogLevel::kTrace, "trace"},
      {LogLevel::kDebug, "debug"},
      {LogLevel::kInfo, "info"},
      {LogLevel::kWarning, "warning", {"warn"}},
      {LogLevel::kError, "error"},
  }};
};

template <>
struct EnumTable<LogFormat> {
  static constexpr std::array<EnumEntry<LogFormat>, 3> kEntries{{
      {LogFormat::kText, "text"},
      {LogFormat::kJson, "json"},
      {LogFormat::kJournald, "journald"},
  }};
};

// A named value of a line.
struct LogField {
  using Value = std::variant<std::string, std::int64_t, std::uint64_t, double, bool>;

  LogField(std::string_view name, std::string_view value) : name(name), value(std::string(value)) {}
  LogField(std::string_view name, const char* value) : name(name), value(std::string(value)) {}
  LogField(std::string_view name, const std::string& value) : name(name), value(value) {}
  LogField(std::string_view name, bool value) : name(name), value(value) {}
  LogField(std::string_view name, std::floating_point auto value)
      : name(name), value(static_cast<double>(value)) {}
  LogField(std::string_view name, std::signed_integral auto value)
      : name(name), value(static_cast<std::int64_t>(value)) {}
  LogField(std::string_view name, std::unsigned_integral auto value)
      : name(name), value(static_cast<std::uint64_t>(value)) {}

  std::string_view name;
  Value value;
};

// Sets what is logged and how; before this, lines of level info and above are written as text.
// Without a format, journald where stderr is the journal's stream ($JOURNAL_STREAM), else text.
// Also takes over spdlog's default logger, which libraries may write to.
void SetUpLogging(LogLevel level, std::optional<LogFormat> format = std::nullopt);

// Writes one line, if `level` is logged. Thread-safe.
void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

}  // namespace acceld
