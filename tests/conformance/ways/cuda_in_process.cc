// The first card, by the cuda plugin, driven inside the test's own process.
#include <cstdio>
#include <cstdlib>

#include "backends/local/local_backend.h"
#include "backends/registry/plugin_loader.h"
#include "fmt/format.h"
#include "tests/conformance/way.h"

namespace acceld::conformance {
namespace {

std::unique_ptr<Device> MakeCard() {
  const absl::StatusOr<const Plugin*> plugin = LoadPlugin("backends/cuda/libacceld_cuda.so");
  absl::Status status = plugin.status();
  if (plugin.ok()) {
    absl::StatusOr<std::unique_ptr<Device>> card = (*plugin)->make_device(0);
    if (card.ok()) return *std::move(card);
    status = card.status();
  }
  // None of the tests has anything to run on.
  fmt::print(stderr, "{}\n", std::string(status.message()));
  std::exit(EXIT_FAILURE);
}

}  // namespace

std::unique_ptr<ComputeBackend> MakeBackend() { return std::make_unique<LocalBackend>(MakeCard()); }

std::string ExpectedTransport() { return "in_process"; }

bool MapsMemory() { return false; }

std::string ObservedTransport(const ComputeBackend& backend) {
  return dynamic_cast<const LocalBackend*>(&backend) != nullptr ? "in_process" : "unknown";
}

}  // namespace acceld::conformance
