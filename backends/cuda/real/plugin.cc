// The cuda device as a plugin.
#include "backends/plugin/plugin.h"

#include "backends/core/status.h"
#include "backends/cuda/cuda_device.h"
#include "backends/cuda/real/cards.h"
#include "backends/cuda/real/cuda_driver.h"
#include "fmt/format.h"

namespace acceld::cuda {
namespace {

CudaOptions OptionsFor(const PluginOptions& options) {
  return {.memory_limit_bytes = options.memory_limit_bytes};
}

absl::StatusOr<std::vector<DeviceInfo>> Probe(const PluginOptions& options) {
  ACCELD_ASSIGN_OR_RETURN(std::vector<DeviceInfo> cards, FindCards());
  for (DeviceInfo& card : cards) card = Limited(card, OptionsFor(options));
  return cards;
}

absl::StatusOr<std::unique_ptr<Device>> MakeDevice(int ordinal, const PluginOptions& options) {
  ACCELD_ASSIGN_OR_RETURN(const std::vector<DeviceInfo> cards, FindCards());
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= cards.size()) {
    return InvalidArgument(
        fmt::format("There is no cuda device {}; there are {}.", ordinal, cards.size()));
  }
  return MakeCudaDevice(
      MakeCudaDriver(cards[static_cast<std::size_t>(ordinal)], options.memory_limit_bytes),
      OptionsFor(options));
}

const Plugin kPlugin{.kind = BackendKind::kCuda, .probe = &Probe, .make_device = &MakeDevice};

}  // namespace
}  // namespace acceld::cuda

const acceld::Plugin* acceld_plugin() { return &acceld::cuda::kPlugin; }
