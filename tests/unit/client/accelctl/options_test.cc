#include "client/accelctl/options.h"

#include "absl/flags/reflection.h"
#include "client/accelctl/help.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld::accelctl {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

class OptionsTest : public ::testing::Test {
 private:
  // The flags are the process's.
  const absl::FlagSaver saver_;
};

TEST_F(OptionsTest, ACommandAloneHasTheDefaults) {
  const auto options = ParseOptions({"info"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->command, Optional(Command::kInfo));
  EXPECT_EQ(options->endpoint, "");
  EXPECT_EQ(options->connect.timeout, absl::Seconds(10));
  EXPECT_EQ(options->connect.kind, std::nullopt);
  EXPECT_EQ(options->connect.ordinal, std::nullopt);
  EXPECT_EQ(options->connect.uuid, std::nullopt);
  EXPECT_FALSE(options->json);
  EXPECT_FALSE(options->help);
}

TEST_F(OptionsTest, EveryCommandIsKnown) {
  for (const auto& entry : EnumTable<Command>::kEntries) {
    std::vector<std::string> arguments{std::string(entry.name)};
    if (entry.value == Command::kEnd) arguments.push_back("1");
    const auto options = ParseOptions(arguments);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_THAT(options->command, Optional(entry.value));
  }
}

TEST_F(OptionsTest, FlagsMayComeBeforeAndAfterTheCommand) {
  const auto options =
      ParseOptions({"--endpoint=unix:/s", "sessions", "--json", "--timeout", "1500ms"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->command, Optional(Command::kSessions));
  EXPECT_EQ(options->endpoint, "unix:/s");
  EXPECT_TRUE(options->json);
  EXPECT_EQ(options->connect.timeout, absl::Milliseconds(1500));
}

TEST_F(OptionsTest, ADeviceIsANumberOrAUuid) {
  const auto by_number = ParseOptions({"selftest", "--kind=CUDA", "--device=2"});
  ASSERT_TRUE(by_number.ok()) << by_number.status();
  EXPECT_THAT(by_number->connect.kind, Optional(BackendKind::kCuda));
  EXPECT_THAT(by_number->connect.ordinal, Optional(2));
  EXPECT_EQ(by_number->connect.uuid, std::nullopt);

  const auto by_uuid = ParseOptions({"selftest", "--device=GPU-2"});
  ASSERT_TRUE(by_uuid.ok()) << by_uuid.status();
  EXPECT_EQ(by_uuid->connect.ordinal, std::nullopt);
  EXPECT_THAT(by_uuid->connect.uuid, Optional(Eq("GPU-2")));
}

TEST_F(OptionsTest, EndTakesTheSessionsNumber) {
  const auto options = ParseOptions({"end", "18446744073709551615"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->session_id, 18446744073709551615u);
}

TEST_F(OptionsTest, HelpIsAboutACommandOrAboutAll) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"--help"}, {"help"}, {"-h"}, {"--help", "--kind=cpu"}}) {
    const auto options = ParseOptions(arguments);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_TRUE(options->help);
    EXPECT_EQ(options->command, std::nullopt);
  }
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"help", "end"}, {"end", "--help"}, {"--help", "end"}}) {
    const auto options = ParseOptions(arguments);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_TRUE(options->help);
    EXPECT_THAT(options->command, Optional(Command::kEnd));
  }
}

TEST_F(OptionsTest, VersionNeedsNoCommand) {
  const auto options = ParseOptions({"--version"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(options->version);
}

struct Mistake {
  std::vector<std::string> arguments;
  std::string message;
};

class OptionMistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(OptionMistakes, AreRefused) {
  const absl::FlagSaver saver;
  EXPECT_THAT(ParseOptions(GetParam().arguments).status(), IsInvalid(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, OptionMistakes,
    ::testing::Values(
        Mistake{{}, "No command is given"}, Mistake{{"list"}, "Command \"list\" is unknown"},
        Mistake{{""}, "Command \"\" is unknown"}, Mistake{{"help", "list"}, "\"list\" is unknown"},
        Mistake{{"info", "all"}, "Argument \"all\" is one too many for info."},
        Mistake{{"info", "--verbose"}, "Flag --verbose is unknown"},
        Mistake{{"info", "--timeout"}, "Flag --timeout has no value."},
        Mistake{{"info", "--timeout=10"}, "Flag --timeout cannot be \"10\"."},
        Mistake{{"info", "--timeout=0s"}, "Flag --timeout is 0; it must be above 0"},
        Mistake{{"info", "--timeout=-1s"}, "Flag --timeout is -1s"},
        Mistake{{"info", "--timeout=61m"}, "at most 1h"},
        Mistake{{"info", "--timeout=inf"}, "Flag --timeout is inf"},
        Mistake{{"info", "--endpoint=tcp"}, "The endpoint \"tcp\""},
        Mistake{{"info", "--kind=cpu"}, "Flag --kind is for selftest, not for info."},
        Mistake{{"drain", "--device=0"}, "Flag --device is for selftest, not for drain."},
        Mistake{{"selftest", "--kind=opencl"}, "Flag --kind is \"opencl\"; it must be one of cuda"},
        Mistake{{"selftest", "--device=2147483648"}, "a device's number is at most 2147483647"},
        Mistake{{"end"}, "Command end needs the number of the session"},
        Mistake{{"end", "first"}, "Session \"first\" is no number"},
        Mistake{{"end", ""}, "Session \"\" is no number"},
        Mistake{{"end", "-1"}, "Session \"-1\" is no number"},
        Mistake{{"end", "1", "2"}, "Argument \"2\" is one too many for end."},
        Mistake{{"end", "18446744073709551616"}, "is no number"}));

TEST(Help, NamesEveryCommandAndEveryCommandHasItsOwn) {
  for (const auto& entry : EnumTable<Command>::kEntries) {
    EXPECT_THAT(HelpText(std::nullopt), HasSubstr("\n  " + std::string(entry.name)));
    EXPECT_THAT(HelpText(entry.value),
                ::testing::StartsWith("accelctl [FLAGS] " + std::string(entry.name)));
  }
}

}  // namespace
}  // namespace acceld::accelctl
