#include "server/logging/log_formatter.h"

#include <algorithm>

#include "fmt/chrono.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace acceld {
namespace {

thread_local std::span<const LogField> current_fields;

std::string RenderTime(std::chrono::system_clock::time_point time) {
  const auto since_epoch = time.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
  const auto micros = std::chrono::floor<std::chrono::microseconds>(since_epoch - seconds);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z",
                     fmt::gmtime(static_cast<std::time_t>(seconds.count())), micros.count());
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

void AppendEscaped(std::string_view text, bool quoted, std::string& line) {
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (IsControl(c)) {
      fmt::format_to(std::back_inserter(line), "\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      if (quoted && (c == '"' || c == '\\')) line += '\\';
      line += c;
    }
  }
}

void AppendText(const std::string& value, std::string& line) {
  const bool quoted = value.empty() || std::ranges::any_of(value, [](char c) {
                        return IsControl(c) || c == ' ' || c == '"' || c == '=' || c == '\\';
                      });
  if (quoted) line += '"';
  AppendEscaped(value, quoted, line);
  if (quoted) line += '"';
}

template <typename T>
void AppendText(const T& value, std::string& line) {
  fmt::format_to(std::back_inserter(line), "{}", value);
}

std::string RenderText(std::string_view message, std::span<const LogField> fields) {
  std::string line;
  AppendEscaped(message, /*quoted=*/false, line);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.name;
    line += '=';
    std::visit([&line](const auto& value) { AppendText(value, line); }, field.value);
  }
  return line;
}

std::string RenderJson(std::chrono::system_clock::time_point time, LogLevel level,
                       std::string_view message, std::span<const LogField> fields) {
  nlohmann::ordered_json object;
  object["time"] = RenderTime(time);
  object["level"] = Name(level);
  object["message"] = message;
  for (const LogField& field : fields) {
    std::visit([&](const auto& value) { object[std::string(field.name)] = value; }, field.value);
  }
  // Bytes that are no UTF-8 become U+FFFD rather than an exception.
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// The priorities of syslog(3), which journald reads from the start of a line.
int JournaldPriority(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return 3;
    case LogLevel::kWarning:
      return 4;
    case LogLevel::kInfo:
      return 6;
    case LogLevel::kDebug:
    case LogLevel::kTrace:
      return 7;
  }
  return 6;
}

LogLevel FromSpdlog(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
      return LogLevel::kTrace;
    case spdlog::level::debug:
      return LogLevel::kDebug;
    case spdlog::level::warn:
      return LogLevel::kWarning;
    case spdlog::level::err:
    case spdlog::level::critical:
      return LogLevel::kError;
    default:
      return LogLevel::kInfo;
  }
}

}  // namespace

std::string RenderLogLine(LogFormat format, std::chrono::system_clock::time_point time,
                          LogLevel level, std::string_view message,
                          std::span<const LogField> fields) {
  switch (format) {
    case LogFormat::kJson:
      return RenderJson(time, level, message, fields) + "\n";
    case LogFormat::kJournald:
      return fmt::format("<{}>{}\n", JournaldPriority(level), RenderText(message, fields));
    case LogFormat::kText:
      break;
  }
  return fmt::format("{} {} {}\n", RenderTime(time), Name(level), RenderText(message, fields));
}

void LogFormatter::format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) {
  const std::string_view text(message.payload.data(), message.payload.size());
  const std::string rendered =
      RenderLogLine(format_, message.time, FromSpdlog(message.level), text, current_fields);
  line.append(rendered.data(), rendered.data() + rendered.size());
}

std::unique_ptr<spdlog::formatter> LogFormatter::clone() const {
  return std::make_unique<LogFormatter>(format_);
}

LogFormatter::ScopedFields::ScopedFields(std::span<const LogField> fields) {
  current_fields = fields;
}

LogFormatter::ScopedFields::~ScopedFields() { current_fields = {}; }

}  // namespace acceld
