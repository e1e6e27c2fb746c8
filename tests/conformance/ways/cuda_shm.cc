// The first card of a daemon, by shared memory.
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "client/remote_backend.h"
#include "tests/conformance/way.h"
#include "tests/conformance/ways/cuda_card.h"
#include "tests/testing/daemon_process.h"

namespace acceld::conformance {
namespace {

std::unique_ptr<testing::DaemonProcess> StartDaemon() {
  char folder[] = "/tmp/acceld_test_XXXXXX";
  if (mkdtemp(folder) == nullptr) std::abort();
  const std::string config = std::string(folder) + "/config";
  std::ofstream(config) << "allow_direct_opening: true\n";
  auto daemon =
      testing::DaemonProcess::Start({"--plugin_folder=backends/cuda", "--config=" + config});
  // It has read it.
  std::filesystem::remove_all(folder);
  return daemon;
}

}  // namespace

std::unique_ptr<ComputeBackend> MakeBackend() {
  // One daemon for all tests of the program, ended with it.
  static const auto daemon = StartDaemon();
  return std::make_unique<RemoteBackend>(daemon->unix_endpoint() + "?transport=shm",
                                         ConnectOptions{.kind = BackendKind::kCuda});
}

std::string ExpectedTransport() { return "shm"; }

std::string ObservedTransport(const ComputeBackend& backend) {
  return dynamic_cast<const RemoteBackend&>(backend).session().transport;
}

bool MapsMemory() { return false; }

std::unique_ptr<ComputeBackend> MakeOpener() { return MakeCardInProcess(); }

}  // namespace acceld::conformance
