#include "client/connect_log.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace acceld {
namespace {

class ConnectLogTest : public ::testing::Test {
 protected:
  ConnectLogTest() { unsetenv("ACCELD_LOG"); }
  ~ConnectLogTest() override { unsetenv("ACCELD_LOG"); }

  static SessionDescription Session() {
    SessionDescription session;
    session.id = 7;
    session.device.kind = BackendKind::kCpu;
    session.device.ordinal = 0;
    session.transport = "shm";
    return session;
  }
  // What goes to standard error.
  static std::string Logged(const ConnectOptions& options) {
    testing::internal::CaptureStderr();
    LogConnected(options, "unix:/a.sock", Session());
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(ConnectLogTest, SaysNothingUnlessAsked) {
  EXPECT_EQ(Logged({}), "");
  setenv("ACCELD_LOG", "", 1);
  EXPECT_EQ(Logged({}), "");
}

TEST_F(ConnectLogTest, TheEnvironmentAsksForALineOnStandardError) {
  setenv("ACCELD_LOG", "1", 1);
  EXPECT_EQ(Logged({}), "acceld: connected to unix:/a.sock, session 7 on cpu:0, over shm.\n");
}

TEST_F(ConnectLogTest, ACallbackTakesTheLineInstead) {
  setenv("ACCELD_LOG", "1", 1);
  std::string line;
  EXPECT_EQ(Logged({.log = [&](std::string_view text) { line = text; }}), "");
  EXPECT_EQ(line, "acceld: connected to unix:/a.sock, session 7 on cpu:0, over shm.");
}

TEST_F(ConnectLogTest, TellsWhyTheWayIsNotABetterOne) {
  std::string line;
  const ConnectOptions options{.log = [&](std::string_view text) { line = text; }};
  SessionDescription session = Session();
  session.transport = "frames+tcp";
  session.transport_note = "Memory can be shared over a Unix socket only.";
  LogConnected(options, "127.0.0.1:1", session);
  EXPECT_EQ(line,
            "acceld: connected to 127.0.0.1:1, session 7 on cpu:0, over frames+tcp: Memory can be "
            "shared over a Unix socket only.");
}

}  // namespace
}  // namespace acceld
