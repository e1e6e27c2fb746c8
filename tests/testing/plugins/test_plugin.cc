// Plugins for the tests of who loads them: PLUGIN_* says what each is like.
#include "backends/null/null_device.h"
#include "backends/plugin/plugin.h"

#ifndef PLUGIN_INTERFACE
#define PLUGIN_INTERFACE acceld::kPluginInterface
#endif
#ifndef PLUGIN_BUILD_ID
#define PLUGIN_BUILD_ID acceld::kPluginBuildId
#endif

namespace acceld {
namespace {

// A device of the plugin's kind that does no work.
class TestDevice final : public NullDevice {
 public:
  TestDevice(int ordinal, const PluginOptions& options)
      : NullDevice({.ordinal = ordinal}), info_(Describe(ordinal, options)) {}

  const DeviceInfo& info() const override { return info_; }

  static DeviceInfo Describe(int ordinal, const PluginOptions& options) {
    return {.kind = BackendKind::kCuda,
            .ordinal = ordinal,
            .name = "test card",
            .total_memory_bytes = options.memory_limit_bytes};
  }

 private:
  const DeviceInfo info_;
};

absl::StatusOr<std::vector<DeviceInfo>> FindDevices([[maybe_unused]] const PluginOptions& options) {
#ifdef PLUGIN_WITHOUT_DEVICES
  return absl::UnavailableError("There is no CUDA device: this is a test.");
#else
  return std::vector<DeviceInfo>{TestDevice::Describe(0, options),
                                 TestDevice::Describe(1, options)};
#endif
}

absl::StatusOr<std::unique_ptr<Device>> MakeDevice(int ordinal, const PluginOptions& options) {
  return std::make_unique<TestDevice>(ordinal, options);
}

const Plugin kPlugin{.interface = PLUGIN_INTERFACE,
                     .build_id = PLUGIN_BUILD_ID,
                     .kind = BackendKind::kCuda,
                     .probe = &FindDevices,
                     .make_device = &MakeDevice};

}  // namespace
}  // namespace acceld

const acceld::Plugin* acceld_plugin() { return &acceld::kPlugin; }
