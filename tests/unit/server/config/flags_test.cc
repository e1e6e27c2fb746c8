#include "server/config/flags.h"

#include <fstream>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/transport/test_sockets.h"

namespace acceld {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<CommandLine> ParseAll(std::vector<const char*> arguments) {
  return ParseCommandLine(arguments);
}

std::string ErrorOf(std::vector<const char*> arguments) {
  const auto line = ParseCommandLine(arguments);
  EXPECT_FALSE(line.ok());
  const std::string message(line.status().message());
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  return message;
}

TEST(Flags, NoneGiveTheDefaults) {
  const auto line = ParseAll({});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->config.socket, "");
  EXPECT_EQ(line->config.drain_timeout, std::chrono::seconds(20));
  EXPECT_FALSE(line->help);
  EXPECT_FALSE(line->version);
}

TEST(Flags, AllAreRead) {
  const auto line = ParseAll({"--socket=/s", "--listen=127.0.0.1:0,[::1]:8080", "--backend=CPU",
                              "--drain_timeout=1.5s", "--log_level=debug", "--log_format=json",
                              "--plugin_folder=/p", "--cpu_threads=4"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->config.socket, "/s");
  EXPECT_THAT(line->config.listen, ElementsAre("127.0.0.1:0", "[::1]:8080"));
  EXPECT_EQ(line->config.backend, BackendKind::kCpu);
  EXPECT_EQ(line->config.drain_timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(line->config.log_level, LogLevel::kDebug);
  EXPECT_EQ(line->config.log_format, LogFormat::kJson);
  EXPECT_EQ(line->config.plugin_folder, "/p");
  EXPECT_EQ(line->config.cpu_threads, 4u);
}

TEST(Flags, MayBeSeparateFromTheirValues) {
  const auto line = ParseAll({"--socket", "/s", "-cpu_threads", "2"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->config.socket, "/s");
  EXPECT_EQ(line->config.cpu_threads, 2u);
}

TEST(Flags, OfOneCallDoNotStayForTheNext) {
  ASSERT_TRUE(ParseAll({"--socket=/s"}).ok());
  EXPECT_EQ(ParseAll({})->config.socket, "");
}

TEST(Flags, LastOneCountsAndListenAddsUp) {
  const auto line =
      ParseAll({"--socket=/a", "--listen=127.0.0.1:1", "--socket=/b", "--listen=127.0.0.1:2"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->config.socket, "/b");
  EXPECT_THAT(line->config.listen, ElementsAre("127.0.0.1:1", "127.0.0.1:2"));
}

TEST(Flags, OverrideTheFile) {
  const SocketFolder folder;
  std::ofstream(folder.Path("c")) << "socket: \"/file\" cpu { threads: 2 } drain_timeout_ms: 5";
  const std::string config = "--config=" + folder.Path("c");
  const auto line = ParseAll({"--socket=/flag", config.c_str(), "--drain_timeout=0"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->config.socket, "/flag");
  EXPECT_EQ(line->config.cpu_threads, 2u);
  EXPECT_EQ(line->config.drain_timeout.count(), 0);
}

TEST(Flags, WrongOnesAreRefusedInOneLine) {
  EXPECT_EQ(ErrorOf({"--sockt=/s"}), "There is no flag \"--sockt\"; --help lists the flags.");
  EXPECT_THAT(ErrorOf({"serve"}), HasSubstr("\"serve\" is not a flag"));
  EXPECT_THAT(ErrorOf({"--"}), HasSubstr("is not a flag"));
  EXPECT_THAT(ErrorOf({"-"}), HasSubstr("is not a flag"));
  EXPECT_THAT(ErrorOf({""}), HasSubstr("is not a flag"));
  EXPECT_EQ(ErrorOf({"--socket"}), "Flag --socket needs a value.");
  EXPECT_EQ(ErrorOf({"--socket="}), "Flag --socket needs a value.");
  EXPECT_EQ(ErrorOf({"--socket", "--cpu_threads=1"}), "Flag --socket needs a value.");
  EXPECT_EQ(ErrorOf({"--cpu_threads=many"}), "Flag --cpu_threads cannot be \"many\".");
  EXPECT_EQ(ErrorOf({"--cpu_threads=-1"}), "Flag --cpu_threads cannot be \"-1\".");
  EXPECT_EQ(ErrorOf({"--cpu_threads=1025"}),
            "Flag --cpu_threads is 1025; it must be from 0 to 1024.");
  EXPECT_EQ(ErrorOf({"--drain_timeout=20"}), "Flag --drain_timeout cannot be \"20\".");
  EXPECT_EQ(ErrorOf({"--drain_timeout=-1s"}),
            "Flag --drain_timeout is -1s; it must be from 0 to 1h.");
  EXPECT_EQ(ErrorOf({"--drain_timeout=inf"}),
            "Flag --drain_timeout is inf; it must be from 0 to 1h.");
  EXPECT_THAT(ErrorOf({"--backend=opencl"}), HasSubstr("must be one of: cuda"));
  EXPECT_THAT(ErrorOf({"--listen=nowhere"}), HasSubstr("Flag --listen is refused"));
  EXPECT_THAT(ErrorOf({"--listen=127.0.0.1:1,"}), HasSubstr("Flag --listen is refused"));
  EXPECT_THAT(ErrorOf({"--log_level=loud"}), HasSubstr("Flag --log_level"));
  EXPECT_THAT(ErrorOf({"--log_format=xml"}), HasSubstr("Flag --log_format"));
  EXPECT_THAT(ErrorOf({"--config=/nonexistent"}), HasSubstr("/nonexistent"));
  EXPECT_THAT(ErrorOf({"--help=1"}), HasSubstr("There is no flag"));
}

TEST(Flags, ControlCharactersDoNotReachTheTerminal) {
  EXPECT_THAT(ErrorOf({"--cpu_threads=1\n\x1b[2J"}), Not(HasSubstr("\x1b")));
}

TEST(Flags, HelpListsEachWithItsText) {
  const auto line = ParseAll({"--help"});
  ASSERT_TRUE(line.ok());
  EXPECT_TRUE(line->help);
  const std::string help = HelpText();
  for (const char* flag : {"--socket", "--listen", "--config", "--backend", "--drain_timeout",
                           "--log_level", "--log_format", "--cpu_threads", "--help", "--version"}) {
    EXPECT_THAT(help, HasSubstr(flag));
  }
  EXPECT_THAT(help, HasSubstr("3 after one of its devices was lost"));
}

void RunMain(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  arguments.insert(arguments.begin(), "acceld");
  for (std::string& argument : arguments) argv.push_back(argument.data());
  ParseCommandLineOrExit(static_cast<int>(argv.size()), argv.data(), "1.2.3");
}

TEST(FlagsDeathTest, WrongOnesExitWithStatusTwo) {
  EXPECT_EXIT(RunMain({"--nonsense"}), ::testing::ExitedWithCode(2),
              "^acceld: There is no flag \"--nonsense\"; --help lists the flags.\n$");
}

TEST(FlagsDeathTest, HelpAndVersionExitWithStatusZero) {
  EXPECT_EXIT(RunMain({"--help"}), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(RunMain({"--version"}), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace acceld
