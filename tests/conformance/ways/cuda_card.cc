#include "tests/conformance/ways/cuda_card.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "backends/local/local_backend.h"
#include "backends/registry/plugin_loader.h"
#include "fmt/format.h"

namespace acceld::conformance {

std::unique_ptr<ComputeBackend> MakeCardInProcess() {
  const absl::StatusOr<const Plugin*> plugin = LoadPlugin("backends/cuda/libacceld_cuda.so");
  absl::Status status = plugin.status();
  if (plugin.ok()) {
    absl::StatusOr<std::unique_ptr<Device>> card = (*plugin)->make_device(0, {});
    if (card.ok()) return std::make_unique<LocalBackend>(*std::move(card));
    status = card.status();
  }
  // None of the tests has anything to run on.
  fmt::print(stderr, "{}\n", std::string(status.message()));
  std::exit(EXIT_FAILURE);
}

}  // namespace acceld::conformance
