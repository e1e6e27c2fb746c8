// Which transport the client library chooses, and what an endpoint may say about it.

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "client/remote_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/daemon_process.h"

namespace acceld {
namespace {

using testing::DaemonProcess;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(TransportChoiceTest, SharedMemoryOverTcpIsAnErrorThatSaysWhy) {
  const auto daemon = DaemonProcess::Start();
  RemoteBackend backend(daemon->tcp_endpoint() + "?transport=shm", {});
  const absl::Status status = backend.Init();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("Unix socket"));
}

TEST(TransportChoiceTest, TheBestIsSharedMemoryOverUnixAndFramesOverTcp) {
  const auto daemon = DaemonProcess::Start();
  RemoteBackend local(daemon->unix_endpoint(), {});
  ASSERT_TRUE(local.Init().ok());
  EXPECT_EQ(local.session().transport, "shm");
  EXPECT_THAT(local.session().transport_note, IsEmpty());
  RemoteBackend remote(daemon->tcp_endpoint(), {});
  ASSERT_TRUE(remote.Init().ok());
  EXPECT_EQ(remote.session().transport, "frames+tcp");
  EXPECT_THAT(remote.session().transport_note, HasSubstr("Unix socket"));
}

TEST(TransportChoiceTest, WithoutRingsItIsFramesAndANoteSaysWhy) {
  char path[] = "/tmp/acceld_config.XXXXXX";
  const int file = mkstemp(path);
  ASSERT_GE(file, 0);
  close(file);
  std::ofstream(path) << "limits { ring_bytes: 0 }";
  const auto daemon = DaemonProcess::Start({std::string("--config=") + path});
  RemoteBackend backend(daemon->unix_endpoint(), {});
  const absl::Status status = backend.Init();
  unlink(path);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(backend.session().transport, "frames+unix");
  EXPECT_THAT(backend.session().transport_note, HasSubstr("share"));
  EXPECT_TRUE(backend.Alloc(64).ok());
}

TEST(TransportChoiceTest, AnOptionThatIsNoneIsAnInvalidArgument) {
  for (const char* option : {"?", "?transport", "?transport=", "?transport=tcp", "?ring=1",
                             "?transport=shm&x=1", "?transport=shm?transport=shm"}) {
    RemoteBackend backend(std::string("unix:/nonexistent") + option, {});
    const absl::Status status = backend.Init();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << option << ": " << status;
  }
}

}  // namespace
}  // namespace acceld
