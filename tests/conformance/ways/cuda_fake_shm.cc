// The cuda device of a daemon, by shared memory, on a card that is not there: plugin, scheduler and
// sessions in front of the device that cuda_fake.cc has in process.

#include <csignal>

#include "client/remote_backend.h"
#include "gtest/gtest.h"
#include "tests/conformance/way.h"
#include "tests/testing/daemon_process.h"

namespace acceld::conformance {
namespace {

// One daemon for all tests of the program. Whatever the card's driver is misused for ends it; what
// the device still has when it ends well is misuse, too.
class DaemonWithCard final : public ::testing::Environment {
 public:
  void SetUp() override {
    daemon_ = testing::DaemonProcess::Start({"--plugin_folder=tests/testing/plugins/fake_card"});
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

}  // namespace acceld::conformance
