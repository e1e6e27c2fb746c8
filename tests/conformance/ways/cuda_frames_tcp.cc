// The first card of a daemon, by frames over TCP.

#include "client/remote_backend.h"
#include "tests/conformance/way.h"
#include "tests/testing/daemon_process.h"

namespace acceld::conformance {

std::unique_ptr<ComputeBackend> MakeBackend() {
  // One daemon for all tests of the program, ended with it.
  static const auto daemon = testing::DaemonProcess::Start({"--plugin_folder=backends/cuda"});
  return std::make_unique<RemoteBackend>(daemon->tcp_endpoint() + "?transport=frames",
                                         ConnectOptions{.kind = BackendKind::kCuda});
}

std::string ExpectedTransport() { return "frames+tcp"; }

std::string ObservedTransport(const ComputeBackend& backend) {
  return dynamic_cast<const RemoteBackend&>(backend).session().transport;
}

bool MapsMemory() { return false; }

std::unique_ptr<ComputeBackend> MakeOpener() { return nullptr; }

}  // namespace acceld::conformance
