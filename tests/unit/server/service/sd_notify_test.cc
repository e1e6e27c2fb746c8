#include "server/service/sd_notify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "backends/core/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/transport/test_sockets.h"

namespace acceld {
namespace {

using ::testing::HasSubstr;

class SdNotifyTest : public ::testing::Test {
 protected:
  ~SdNotifyTest() override { unsetenv("NOTIFY_SOCKET"); }

  // A service manager's socket at `name`, which starts with '@' if it is abstract.
  UniqueFd Manage(const std::string& name) {
    UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
    return fd;
  }

  static std::string Receive(int fd) {
    char bytes[256];
    const ssize_t count = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    return count < 0 ? "nothing" : std::string(bytes, static_cast<std::size_t>(count));
  }

  const SocketFolder folder_;
};

TEST_F(SdNotifyTest, TellsNobodyWhereNobodyAsks) {
  unsetenv("NOTIFY_SOCKET");
  EXPECT_TRUE(NotifyServiceManager("READY=1").ok());
}

TEST_F(SdNotifyTest, TellsAPathSocket) {
  const UniqueFd manager = Manage(folder_.Path("notify"));
  EXPECT_TRUE(NotifyServiceManager("READY=1\nSTATUS=Serving 1 device.").ok());
  EXPECT_EQ(Receive(manager.get()), "READY=1\nSTATUS=Serving 1 device.");
}

TEST_F(SdNotifyTest, TellsAnAbstractSocket) {
  const UniqueFd manager = Manage("@" + folder_.Path("notify"));
  EXPECT_TRUE(NotifyServiceManager("STOPPING=1").ok());
  EXPECT_EQ(Receive(manager.get()), "STOPPING=1");
}

TEST_F(SdNotifyTest, SaysWhenNobodyReceives) {
  setenv("NOTIFY_SOCKET", folder_.Path("missing").c_str(), 1);
  EXPECT_THAT(std::string(NotifyServiceManager("READY=1").message()),
              HasSubstr(folder_.Path("missing")));
}

TEST_F(SdNotifyTest, RefusesANameThatIsNone) {
  for (const std::string& name :
       {std::string(), std::string("/"), std::string("relative"), "/" + std::string(200, 'x')}) {
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
    EXPECT_EQ(NotifyServiceManager("READY=1").code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

}  // namespace
}  // namespace acceld
