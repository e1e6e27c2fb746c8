// The cuda device on a card that is not there, as a plugin, which a program loads in the place of
// the real one.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "backends/core/status.h"
#include "backends/cuda/cuda_device.h"
#include "backends/plugin/plugin.h"
#include "fmt/format.h"
#include "tests/testing/cuda/fake_cuda_driver.h"

namespace acceld {
namespace {

std::unique_ptr<FakeCudaDriver> MakeDriver() {
  return std::make_unique<FakeCudaDriver>(
      FakeCudaOptions{.clients_race = true, .on_misuse = [](const std::string& what) {
                        fmt::print(stderr, "The fake card is misused: {}\n", what);
                        std::abort();
                      }});
}

absl::StatusOr<std::vector<DeviceInfo>> FindCards() {
  return std::vector<DeviceInfo>{MakeDriver()->info()};
}

absl::StatusOr<std::unique_ptr<Device>> MakeDevice(int ordinal) {
  if (ordinal == 0) return cuda::MakeCudaDevice(MakeDriver());
  return InvalidArgument(fmt::format("There is no cuda device {}; there is one.", ordinal));
}

const Plugin kPlugin{.kind = BackendKind::kCuda, .probe = &FindCards, .make_device = &MakeDevice};

}  // namespace
}  // namespace acceld

const acceld::Plugin* acceld_plugin() { return &acceld::kPlugin; }
