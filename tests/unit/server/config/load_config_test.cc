#include "server/config/load_config.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "server/config/config.pb.h"
#include "tests/unit/server/transport/test_sockets.h"

namespace acceld {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string ErrorOf(std::string_view text) {
  const auto config = ParseConfig(text, "acceld.conf");
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(config.status().message());
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  return message;
}

constexpr char kEverything[] = R"(
  socket: "/run/a.sock"
  socket_mode: 0666
  listen: "127.0.0.1:1"
  listen: "[::1]:2"
  backend: "nvidia"
  plugin_folder: "/usr/lib/acceld"
  allow_direct_opening: true
  cpu { threads: 3 memory_limit_bytes: 1048577 }
  cuda { memory_limit_bytes: 1048578 }
  limits {
    max_sessions: 1 max_connections: 2 max_pending_connections: 3 handshake_timeout_ms: 4
    max_message_bytes: 65541 max_commands_per_message: 6 max_in_flight_commands: 7
    max_in_flight_bytes: 1048584 max_streams: 9 max_events: 10 max_allocations: 11
    session_idle_timeout_ms: 112 max_programs: 13 max_program_items: 14 max_program_bytes: 65551
    max_host_memory_bytes: 1048589 ring_bytes: 4097 staging_bytes: 65552 frame_timeout_ms: 116
  }
  drain_timeout_ms: 13
  log { level: "WARN" format: "json" }
  admins: "uid:0"
  admins: "tcp:[::1]"
)";

TEST(ParseConfig, ReadsEveryField) {
  const auto config = ParseConfig(kEverything, "acceld.conf");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->socket, "/run/a.sock");
  EXPECT_EQ(config->socket_mode, 0666u);
  EXPECT_THAT(config->listen, ElementsAre("127.0.0.1:1", "[::1]:2"));
  EXPECT_EQ(config->backend, BackendKind::kCuda);
  EXPECT_EQ(config->plugin_folder, "/usr/lib/acceld");
  EXPECT_TRUE(config->allow_direct_opening);
  EXPECT_EQ(config->cpu_threads, 3u);
  EXPECT_EQ(config->cpu_memory_limit_bytes, 1048577u);
  EXPECT_EQ(config->cuda_memory_limit_bytes, 1048578u);
  EXPECT_EQ(config->limits.max_sessions, 1u);
  EXPECT_EQ(config->limits.max_connections, 2u);
  EXPECT_EQ(config->limits.max_pending_connections, 3u);
  EXPECT_EQ(config->limits.handshake_timeout.count(), 4);
  EXPECT_EQ(config->limits.max_message_bytes, 65541u);
  EXPECT_EQ(config->limits.max_commands_per_message, 6u);
  EXPECT_EQ(config->limits.max_in_flight_commands, 7u);
  EXPECT_EQ(config->limits.max_in_flight_bytes, 1048584u);
  EXPECT_EQ(config->limits.max_streams, 9u);
  EXPECT_EQ(config->limits.max_events, 10u);
  EXPECT_EQ(config->limits.max_allocations, 11u);
  EXPECT_EQ(config->limits.session_idle_timeout.count(), 112);
  EXPECT_EQ(config->limits.max_programs, 13u);
  EXPECT_EQ(config->limits.max_program_items, 14u);
  EXPECT_EQ(config->limits.max_program_bytes, 65551u);
  EXPECT_EQ(config->limits.max_host_memory_bytes, 1048589u);
  EXPECT_EQ(config->limits.ring_bytes, 4097u);
  EXPECT_EQ(config->limits.staging_bytes, 65552u);
  EXPECT_EQ(config->limits.frame_timeout.count(), 116);
  EXPECT_EQ(config->drain_timeout.count(), 13);
  EXPECT_EQ(config->log_level, LogLevel::kWarning);
  EXPECT_EQ(config->log_format, LogFormat::kJson);
  EXPECT_THAT(config->admins, ElementsAre("uid:0", "tcp:[::1]"));
}

void ExpectNamedInEverything(const google::protobuf::Descriptor* message) {
  for (int i = 0; i < message->field_count(); ++i) {
    const auto* field = message->field(i);
    EXPECT_THAT(kEverything, HasSubstr(field->name()));
    if (field->message_type() != nullptr) ExpectNamedInEverything(field->message_type());
  }
}

TEST(ParseConfig, TheTestAboveNamesEveryField) {
  ExpectNamedInEverything(config::Config::descriptor());
}

TEST(ParseConfig, NothingGivesTheDefaults) {
  const auto config = ParseConfig("# only a comment\n", "acceld.conf");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->socket, "");
  EXPECT_FALSE(config->backend.has_value());
  EXPECT_FALSE(config->log_format.has_value());
  EXPECT_EQ(config->limits.max_connections, 4096u);
  EXPECT_EQ(config->drain_timeout, std::chrono::seconds(20));
  EXPECT_TRUE(config->admins.empty());
}

TEST(ParseConfig, NamesThePlaceAndTheRangeOfAValueOutOfRange) {
  EXPECT_EQ(ErrorOf("socket: \"/s\"\nlimits {\n  max_sessions: 0\n}\n"),
            "acceld.conf:3:3: limits.max_sessions is 0; it must be from 1 to 1000000.");
}

struct BadConfig {
  const char* text;
  const char* place;
  const char* message;
};

class BadConfigTest : public ::testing::TestWithParam<BadConfig> {};

TEST_P(BadConfigTest, IsRefusedWithItsPlace) {
  const std::string error = ErrorOf(GetParam().text);
  EXPECT_THAT(error, StartsWith(std::string("acceld.conf:") + GetParam().place + ": "));
  EXPECT_THAT(error, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    ConfigFiles, BadConfigTest,
    ::testing::Values(
        BadConfig{"sockt: \"/s\"", "1:6", "sockt"},
        BadConfig{"\n\n  limits { max_session: 1 }", "3:23", "max_session"},
        BadConfig{"socket: 12", "1:9", "string"}, BadConfig{"socket: \"a", "1:11", ""},
        BadConfig{"socket: \"\"", "1:1", "socket is empty"},
        BadConfig{"socket: \"a\"\nsocket: \"b\"", "2:7", "multiple times"},
        BadConfig{"socket_mode: 01000", "1:1", "from 0 to 511"},
        BadConfig{"cpu { threads: -1 }", "1:16", "integer"},
        BadConfig{"cpu { threads: 1025 }", "1:7", "cpu.threads is 1025; it must be from 0 to 1024"},
        BadConfig{"cpu { threads: 4294967296 }", "1:16", "out of range"},
        BadConfig{"cpu { threads: 1.5 }", "1:16", "integer"},
        BadConfig{"cpu { memory_limit_bytes: 1 }", "1:7", "from 1048576 to 1125899906842624"},
        BadConfig{"cpu { memory_limit_bytes: 18446744073709551615 }", "1:7", "from"},
        BadConfig{"cuda { memory_limit_bytes: 1 }", "1:8",
                  "cuda.memory_limit_bytes is 1; it must be from 1048576 to 1125899906842624"},
        BadConfig{"cpu {", "1:6", ""},
        BadConfig{"limits { handshake_timeout_ms: 0 }", "1:10", "limits.handshake_timeout_ms is 0"},
        BadConfig{"limits { max_message_bytes: 10 }", "1:10", "from 65536 to 1073741824"},
        BadConfig{"limits { session_idle_timeout_ms: 99 }", "1:10", "from 100 to 86400000"},
        BadConfig{"limits { max_host_memory_bytes: 1048575 }", "1:10",
                  "from 1048576 to 1125899906842624"},
        BadConfig{"limits { max_host_memory_bytes: 1125899906842625 }", "1:10", "from 1048576"},
        BadConfig{"limits { ring_bytes: 16777217 }", "1:10", "from 0 to 16777216"},
        BadConfig{"limits { staging_bytes: 65535 }", "1:10", "from 65536 to 1073741824"},
        BadConfig{"limits { staging_bytes: 1073741825 }", "1:10", "from 65536 to 1073741824"},
        BadConfig{"limits { frame_timeout_ms: 99 }", "1:10", "from 100 to 600000"},
        BadConfig{"limits { frame_timeout_ms: 600001 }", "1:10", "from 100 to 600000"},
        BadConfig{"drain_timeout_ms: 3600001", "1:1", "drain_timeout_ms is 3600001"},
        BadConfig{"listen: \"127.0.0.1:1\"\nlisten: \"nowhere\"", "2:1", "HOST:PORT"},
        BadConfig{"backend: \"opencl\"", "1:1", "must be one of: cuda, rocm"},
        BadConfig{"log { level: \"loud\" }", "1:7", "trace, debug, info, warning, error"},
        BadConfig{"log { format: \"xml\" }", "1:7", "text, json, journald"},
        BadConfig{"admins: \"uid:1\"\n\nadmins: \"root\"", "3:1", "must be an identity"},
        BadConfig{"admins: \"uid:-1\"", "1:1", "identity"},
        BadConfig{"admins: \"uid:01\"", "1:1", "identity"},
        BadConfig{"admins: \"uid:4294967295\"", "1:1", "identity"},
        BadConfig{"admins: \"tcp:localhost\"", "1:1", "identity"},
        BadConfig{"admins: \"tcp:::1\"", "1:1", "identity"},
        BadConfig{"\x7f"
                  "ELF\x02\x01\x01",
                  "1:1", ""},
        BadConfig{"<xml/>", "1:1", ""}));

TEST(ParseConfig, RefusesBinaryInOneLine) {
  std::string binary;
  for (int i = 0; i < 4096; ++i) binary.push_back(static_cast<char>(i * 37));
  EXPECT_THAT(ErrorOf(binary), StartsWith("acceld.conf:"));
}

TEST(LoadConfig, ReadsAFile) {
  const SocketFolder folder;
  std::ofstream(folder.Path("c")) << "cpu { threads: 2 }\n";
  const auto config = LoadConfig(folder.Path("c"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->cpu_threads, 2u);
}

TEST(LoadConfig, AnEmptyFileGivesTheDefaults) { EXPECT_TRUE(LoadConfig("/dev/null").ok()); }

TEST(LoadConfig, NamesTheFileInErrors) {
  const SocketFolder folder;
  std::ofstream(folder.Path("c")) << "x";
  EXPECT_THAT(std::string(LoadConfig(folder.Path("c")).status().message()),
              StartsWith(folder.Path("c") + ":1:"));
}

TEST(LoadConfig, RefusesAMissingFile) {
  const auto config = LoadConfig("/nonexistent/acceld.conf");
  EXPECT_EQ(
      std::string(config.status().message()),
      "Cannot read the configuration file /nonexistent/acceld.conf: No such file or directory");
}

TEST(LoadConfig, RefusesAFolder) {
  EXPECT_THAT(std::string(LoadConfig("/").status().message()), HasSubstr("Is a directory"));
}

TEST(LoadConfig, DoesNotReadWithoutEnd) {
  EXPECT_THAT(std::string(LoadConfig("/dev/zero").status().message()), HasSubstr("larger than"));
}

}  // namespace
}  // namespace acceld
