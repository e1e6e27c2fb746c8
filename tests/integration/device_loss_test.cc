// What clients hear when the daemon loses a device, on every transport.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "backends/core/status.h"
#include "client/remote_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/daemon_process.h"

namespace acceld {
namespace {

using testing::DaemonProcess;
using ::testing::HasSubstr;

constexpr char kFakeCard[] = "--plugin_folder=tests/testing/plugins/fake_card";
constexpr std::uint64_t kBytes = 1 << 20;
// As the README says.
constexpr int kExitDeviceLost = 3;
// At once, after the sessions of the device have ended.
constexpr absl::Duration kDrains = absl::Seconds(5);

class DeviceLossTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<RemoteBackend> Connect(BackendKind kind) const {
    auto backend = std::make_unique<RemoteBackend>(
        daemon_->unix_endpoint() + "?transport=" + GetParam(), ConnectOptions{.kind = kind});
    const absl::Status status = backend->Init();
    EXPECT_TRUE(status.ok()) << status;
    return backend;
  }

  static std::unique_ptr<DaemonProcess> Start() {
    setenv("ACCELD_FAKE_CARD_LOST_BY", "softmax", /*replace=*/1);
    auto daemon = DaemonProcess::Start({kFakeCard});
    unsetenv("ACCELD_FAKE_CARD_LOST_BY");
    return daemon;
  }

  const std::unique_ptr<DaemonProcess> daemon_ = Start();
};

void ExpectLost(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  EXPECT_EQ(GetReason(status), reason::kDeviceLost) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("while softmax ran"));
}

TEST_P(DeviceLossTest, EndsTheSessionsOfTheDeviceAndTheDaemon) {
  const auto backend = Connect(BackendKind::kCuda);
  const auto bystander = Connect(BackendKind::kCuda);
  const auto on_cpu = Connect(BackendKind::kCpu);
  const Address data = backend->Alloc(kBytes).value();
  const absl::Span<std::byte> host = backend->AllocHost(kBytes).value();
  ASSERT_TRUE(backend->Memset(data, 5, kBytes).ok());
  ASSERT_TRUE(backend->CopyDtoH(host, data).ok());
  ASSERT_TRUE(
      backend->Softmax({.shape = {kBytes / 4}, .axis = 0, .input = data, .output = data}).ok());
  ExpectLost(backend->Synchronize());
  ExpectLost(backend->Alloc(kBytes).status());
  ExpectLost(backend->CopyDtoH(host, data));
  ExpectLost(bystander->Alloc(kBytes).status());
  // The other device's session goes on until the daemon drains; a call may find the daemon gone.
  const absl::Time latest = absl::Now() + kDrains;
  absl::Status other;
  while (other.ok() && absl::Now() < latest) other = on_cpu->Synchronize();
  EXPECT_TRUE(absl::IsUnavailable(other)) << other;
  EXPECT_EQ(daemon_->Wait(), kExitDeviceLost);
  EXPECT_EQ(std::vector<std::byte>(host.begin(), host.end()),
            std::vector<std::byte>(kBytes, std::byte{5}));
  EXPECT_FALSE(std::filesystem::exists(daemon_->folder() + "/s"));
}

INSTANTIATE_TEST_SUITE_P(Transports, DeviceLossTest, ::testing::Values("shm", "frames", "grpc"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace acceld
