// The first card, by the cuda plugin, driven inside the test's own process.
#include "backends/local/local_backend.h"
#include "tests/conformance/way.h"
#include "tests/conformance/ways/cuda_card.h"

namespace acceld::conformance {

std::unique_ptr<ComputeBackend> MakeBackend() { return MakeCardInProcess(); }

std::string ExpectedTransport() { return "in_process"; }

bool MapsMemory() { return false; }

std::unique_ptr<ComputeBackend> MakeOpener() { return MakeCardInProcess(); }

std::string ObservedTransport(const ComputeBackend& backend) {
  return dynamic_cast<const LocalBackend*>(&backend) != nullptr ? "in_process" : "unknown";
}

}  // namespace acceld::conformance
