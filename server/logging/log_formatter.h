// Renders the lines of the log. Message and values may hold any bytes; a line stays one line.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "server/logging/logging.h"
#include "spdlog/formatter.h"

namespace acceld {

// One line, with its end of line.
std::string RenderLogLine(LogFormat format, std::chrono::system_clock::time_point time,
                          LogLevel level, std::string_view message,
                          std::span<const LogField> fields);

// Gives spdlog the lines above. spdlog 1.10 cannot carry fields, but formats in the thread that
// logs: the fields of a line are those that the thread set before it.
class LogFormatter final : public spdlog::formatter {
 public:
  explicit LogFormatter(LogFormat format) : format_(format) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override;
  std::unique_ptr<spdlog::formatter> clone() const override;

  // The fields of the lines that this thread logs while the object lives.
  class ScopedFields {
   public:
    explicit ScopedFields(std::span<const LogField> fields);
    ~ScopedFields();
    ScopedFields(const ScopedFields&) = delete;
    ScopedFields& operator=(const ScopedFields&) = delete;
  };

 private:
  const LogFormat format_;
};

}  // namespace acceld
