#include "server/logging/logging.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <span>

#include "fmt/format.h"
#include "server/logging/log_formatter.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace acceld {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// Never destroyed, so that threads may log until the process ends.
const std::shared_ptr<spdlog::logger>& Logger() {
  static const auto& logger = *new std::shared_ptr<spdlog::logger>([] {
    auto made = std::make_shared<spdlog::logger>("acceld",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_formatter(std::make_unique<LogFormatter>(LogFormat::kText));
    return made;
  }());
  return logger;
}

// $JOURNAL_STREAM names the journal's stream as DEVICE:INODE; a process whose stderr was redirected
// since inherits the variable all the same.
bool IsStderrTheJournal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat file {};
  if (stream == nullptr || fstat(STDERR_FILENO, &file) != 0) return false;
  return fmt::format("{}:{}", file.st_dev, file.st_ino) == stream;
}

}  // namespace

void SetUpLogging(LogLevel level, std::optional<LogFormat> format) {
  if (!format.has_value()) {
    format = IsStderrTheJournal() ? LogFormat::kJournald : LogFormat::kText;
  }
  Logger()->set_formatter(std::make_unique<LogFormatter>(*format));
  Logger()->set_level(ToSpdlog(level));
  spdlog::set_default_logger(Logger());
}

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  const spdlog::level::level_enum spdlog_level = ToSpdlog(level);
  if (!Logger()->should_log(spdlog_level)) return;
  const LogFormatter::ScopedFields scoped(std::span<const LogField>(fields.begin(), fields.size()));
  Logger()->log(spdlog_level, spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace acceld
