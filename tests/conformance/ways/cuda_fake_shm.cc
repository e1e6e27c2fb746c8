// The cuda device of a daemon, by shared memory, on a card that is not there: plugin, scheduler and
// sessions in front of the device that cuda_fake.cc has in process.

#include <csignal>
#include <fstream>

#include "backends/cuda/cuda_device.h"
#include "backends/local/local_backend.h"
#include "client/remote_backend.h"
#include "gtest/gtest.h"
#include "tests/conformance/way.h"
#include "tests/testing/cuda/fake_cuda_driver.h"
#include "tests/testing/daemon_process.h"

namespace acceld::conformance {
namespace {

// One daemon for all tests of the program. Whatever the card's driver is misused for ends it; what
// the device still has when it ends well is misuse, too.
class DaemonWithCard final : public ::testing::Environment {
 public:
  void SetUp() override {
    const std::string config = ::testing::TempDir() + "/cuda_fake_shm_config";
    std::ofstream(config) << "allow_direct_opening: true\n";
    daemon_ = testing::DaemonProcess::Start(
        {"--plugin_folder=tests/testing/plugins/fake_card", "--config=" + config});
  }
  void TearDown() override {
    daemon_->Signal(SIGTERM);
    EXPECT_EQ(daemon_->Wait(), 0);
  }

  std::string endpoint() const { return daemon_->unix_endpoint(); }

 private:
  std::unique_ptr<testing::DaemonProcess> daemon_;
};

// GoogleTest owns it.
const DaemonWithCard* const kDaemon = [] {
  auto* const daemon = new DaemonWithCard;
  ::testing::AddGlobalTestEnvironment(daemon);
  return daemon;
}();

}  // namespace

std::unique_ptr<ComputeBackend> MakeBackend() {
  return std::make_unique<RemoteBackend>(kDaemon->endpoint() + "?transport=shm",
                                         ConnectOptions{.kind = BackendKind::kCuda});
}

std::string ExpectedTransport() { return "shm"; }

std::string ObservedTransport(const ComputeBackend& backend) {
  return dynamic_cast<const RemoteBackend&>(backend).session().transport;
}

bool MapsMemory() { return false; }

std::unique_ptr<ComputeBackend> MakeOpener() {
  return std::make_unique<LocalBackend>(cuda::MakeCudaDevice(std::make_unique<FakeCudaDriver>(
      FakeCudaOptions{.clients_race = true,
                      .on_misuse = [](const std::string& what) { ADD_FAILURE() << what; }})));
}

}  // namespace acceld::conformance
