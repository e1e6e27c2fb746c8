// The CPU device of a daemon, by gRPC over TCP.

#include "client/remote_backend.h"
#include "tests/conformance/way.h"
#include "tests/testing/daemon_process.h"

namespace acceld::conformance {

std::unique_ptr<ComputeBackend> MakeBackend() {
  // One daemon for all tests of the program, ended with it.
  static const auto daemon = testing::DaemonProcess::Start();
  return std::make_unique<RemoteBackend>(daemon->tcp_endpoint() + "?transport=grpc",
                                         ConnectOptions{.kind = BackendKind::kCpu});
}

std::string ExpectedTransport() { return "grpc+tcp"; }

std::string ObservedTransport(const ComputeBackend& backend) {
  return dynamic_cast<const RemoteBackend&>(backend).session().transport;
}

bool MapsMemory() { return false; }

std::unique_ptr<ComputeBackend> MakeOpener() { return nullptr; }

}  // namespace acceld::conformance
