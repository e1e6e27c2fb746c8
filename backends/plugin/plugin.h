// What a shared library exports to be a plugin: the devices of one kind of backend, for a program
// that loads it (backends/registry/plugin_loader.h).
//
// It sees and returns plain C++ types, so program and plugin have to be built from the same
// headers by the same compiler, which the build id tells. It links no protobuf and no gRPC: two
// copies of protobuf in one process end it. It is never unloaded.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/core/device_info.h"
#include "backends/core/values.h"
#include "backends/device.h"
#include "backends/plugin/build_id.h"

namespace acceld {

// Raised where `Plugin` itself changes.
inline constexpr std::uint32_t kPluginInterface = 1;

struct Plugin {
  // These two come first, and are compared before anything else is looked at.
  std::uint32_t interface = kPluginInterface;
  const char* build_id = kPluginBuildId;

  BackendKind kind = BackendKind::kCpu;
  // The devices there are, by ordinal; none is initialized. An error, a full sentence, says why
  // there are none: that is no fault.
  absl::StatusOr<std::vector<DeviceInfo>> (*probe)() = nullptr;
  // The device of this ordinal, not yet initialized. Invalid argument where there is none.
  absl::StatusOr<std::unique_ptr<Device>> (*make_device)(int ordinal) = nullptr;
};

// The name of the one symbol that a plugin exports, a function of this type.
inline constexpr char kPluginSymbol[] = "acceld_plugin";
using PluginFunction = const Plugin*();

}  // namespace acceld

extern "C" __attribute__((visibility("default"))) const acceld::Plugin* acceld_plugin();
