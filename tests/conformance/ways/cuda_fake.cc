// The cuda device, in the test's own process, on a card that is not there: its host logic and its
// kernels are the real ones.
#include "backends/cuda/cuda_device.h"
#include "backends/local/local_backend.h"
#include "gtest/gtest.h"
#include "tests/conformance/way.h"
#include "tests/testing/cuda/fake_cuda_driver.h"

namespace acceld::conformance {

std::unique_ptr<ComputeBackend> MakeBackend() {
  return std::make_unique<LocalBackend>(cuda::MakeCudaDevice(std::make_unique<FakeCudaDriver>(
      FakeCudaOptions{.clients_race = true,
                      .on_misuse = [](const std::string& what) { ADD_FAILURE() << what; }})));
}

std::string ExpectedTransport() { return "in_process"; }

bool MapsMemory() { return false; }

std::unique_ptr<ComputeBackend> MakeOpener() { return MakeBackend(); }

std::string ObservedTransport(const ComputeBackend& backend) {
  return dynamic_cast<const LocalBackend*>(&backend) != nullptr ? "in_process" : "unknown";
}

}  // namespace acceld::conformance
