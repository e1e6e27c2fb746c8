#include "server/logging/logging.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <thread>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "server/logging/log_formatter.h"
#include "server/logging/log_rate_limiter.h"
#include "spdlog/spdlog.h"

namespace acceld {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// 2026-01-31T12:00:00.000042Z.
constexpr std::chrono::system_clock::time_point kTime{std::chrono::microseconds(1769860800000042)};

std::string Render(LogFormat format, LogLevel level, std::string_view message,
                   const std::vector<LogField>& fields = {}) {
  return RenderLogLine(format, kTime, level, message, fields);
}

TEST(LogLine, TextHasTimeLevelMessageAndFields) {
  EXPECT_EQ(Render(LogFormat::kText, LogLevel::kInfo, "session opened",
                   {{"session", 3}, {"identity", "uid:1000"}, {"ok", true}, {"share", 0.5}}),
            "2026-01-31T12:00:00.000042Z info session opened session=3 identity=uid:1000 ok=true "
            "share=0.5\n");
}

TEST(LogLine, TextQuotesWhatWouldReadAsSomethingElse) {
  EXPECT_EQ(Render(LogFormat::kJournald, LogLevel::kInfo, "m",
                   {{"a", ""}, {"b", "x y"}, {"c", "x=\"y\\"}}),
            "<6>m a=\"\" b=\"x y\" c=\"x=\\\"y\\\\\"\n");
}

TEST(LogLine, StaysOneLineWhateverItHolds) {
  const std::string hostile = "a\nb\r\x1b[2J\x7f";
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson, LogFormat::kJournald}) {
    const std::string line = Render(format, LogLevel::kInfo, hostile + '\0', {{"field", hostile}});
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
    EXPECT_EQ(line.find('\0'), std::string::npos) << line;
  }
}

TEST(LogLine, JsonHasItsFieldsWithTheirTypes) {
  const std::string line = Render(
      LogFormat::kJson, LogLevel::kWarning, "say \"hi\"",
      {{"id", std::uint64_t{18446744073709551615u}}, {"n", -1}, {"ok", false}, {"text", "\\ü"}});
  const auto object = nlohmann::json::parse(line);
  EXPECT_EQ(object["time"], "2026-01-31T12:00:00.000042Z");
  EXPECT_EQ(object["level"], "warning");
  EXPECT_EQ(object["message"], "say \"hi\"");
  EXPECT_EQ(object["id"], 18446744073709551615u);
  EXPECT_EQ(object["n"], -1);
  EXPECT_EQ(object["ok"], false);
  EXPECT_EQ(object["text"], "\\ü");
}

TEST(LogLine, JsonIsValidForAnyBytesAndNumbers) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  const std::string line =
      Render(LogFormat::kJson, LogLevel::kError, bytes,
             {{"bytes", bytes}, {"nan", std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_TRUE(nlohmann::json::accept(line)) << line;
}

TEST(LogLine, JournaldReadsTheLevelFromThePrefix) {
  EXPECT_THAT(Render(LogFormat::kJournald, LogLevel::kError, "m"), StartsWith("<3>m"));
  EXPECT_THAT(Render(LogFormat::kJournald, LogLevel::kWarning, "m"), StartsWith("<4>m"));
  EXPECT_THAT(Render(LogFormat::kJournald, LogLevel::kInfo, "m"), StartsWith("<6>m"));
  EXPECT_THAT(Render(LogFormat::kJournald, LogLevel::kDebug, "m"), StartsWith("<7>m"));
}

class LoggingTest : public ::testing::Test {
 protected:
  ~LoggingTest() override {
    unsetenv("JOURNAL_STREAM");
    SetUpLogging(LogLevel::kInfo, LogFormat::kText);
  }
};

TEST_F(LoggingTest, WritesToStderr) {
  SetUpLogging(LogLevel::kInfo, LogFormat::kText);
  ::testing::internal::CaptureStderr();
  Log(LogLevel::kInfo, "session opened", {{"session", 3}});
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("Z info session opened session=3\n"));
}

TEST_F(LoggingTest, LeavesOutWhatIsLessSevere) {
  SetUpLogging(LogLevel::kWarning, LogFormat::kText);
  ::testing::internal::CaptureStderr();
  Log(LogLevel::kInfo, "not this");
  Log(LogLevel::kWarning, "this");
  const std::string written = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(written, HasSubstr("warning this\n"));
  EXPECT_EQ(written.find("not this"), std::string::npos);
}

TEST_F(LoggingTest, CarriesFieldsOnlyOnTheirOwnLine) {
  SetUpLogging(LogLevel::kInfo, LogFormat::kJournald);
  ::testing::internal::CaptureStderr();
  Log(LogLevel::kInfo, "first", {{"a", 1}});
  spdlog::info("second");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "<6>first a=1\n<6>second\n");
}

TEST_F(LoggingTest, SpeaksToTheJournalWhereStderrIsItsStream) {
  ::testing::internal::CaptureStderr();
  struct stat file {};
  fstat(STDERR_FILENO, &file);
  setenv("JOURNAL_STREAM", fmt::format("{}:{}", file.st_dev, file.st_ino).c_str(), 1);
  SetUpLogging(LogLevel::kInfo);
  Log(LogLevel::kInfo, "m");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "<6>m\n");
}

TEST_F(LoggingTest, WritesTextWhereStderrWasRedirectedFromTheJournal) {
  setenv("JOURNAL_STREAM", "1:1", 1);
  SetUpLogging(LogLevel::kInfo);
  ::testing::internal::CaptureStderr();
  Log(LogLevel::kInfo, "m");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("Z info m\n"));
}

TEST_F(LoggingTest, ThreadsDoNotMixTheirLines) {
  constexpr int kThreads = 4;
  constexpr int kLines = 200;
  SetUpLogging(LogLevel::kInfo, LogFormat::kJson);
  ::testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([i] {
      for (int j = 0; j < kLines; ++j) Log(LogLevel::kInfo, std::to_string(i), {{"thread", i}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::istringstream written(::testing::internal::GetCapturedStderr());
  int lines = 0;
  for (std::string line; std::getline(written, line); ++lines) {
    const auto object = nlohmann::json::parse(line);
    EXPECT_EQ(object["message"], std::to_string(object["thread"].get<int>()));
  }
  EXPECT_EQ(lines, kThreads * kLines);
}

TEST(LogRateLimiter, AdmitsOneMessagePerIntervalAndCountsTheOthers) {
  using std::chrono::seconds;
  LogRateLimiter limiter(seconds(10));
  const LogRateLimiter::Clock::time_point start{};
  EXPECT_EQ(limiter.Admit(start), 0u);
  EXPECT_EQ(limiter.Admit(start + seconds(1)), std::nullopt);
  EXPECT_EQ(limiter.Admit(start + seconds(9)), std::nullopt);
  EXPECT_EQ(limiter.Admit(start + seconds(10)), 2u);
  EXPECT_EQ(limiter.Admit(start + seconds(20)), 0u);
}

}  // namespace
}  // namespace acceld
