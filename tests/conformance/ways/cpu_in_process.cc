// The CPU device, driven inside the test's own process.
#include "backends/cpu/cpu_device.h"
#include "backends/local/local_backend.h"
#include "tests/conformance/way.h"

namespace acceld::conformance {

std::unique_ptr<ComputeBackend> MakeBackend() {
  return std::make_unique<LocalBackend>(MakeCpuDevice({}));
}

std::string ExpectedTransport() { return "in_process"; }

bool MapsMemory() { return true; }

std::unique_ptr<ComputeBackend> MakeOpener() { return nullptr; }

std::string ObservedTransport(const ComputeBackend& backend) {
  return dynamic_cast<const LocalBackend*>(&backend) != nullptr ? "in_process" : "unknown";
}

}  // namespace acceld::conformance
