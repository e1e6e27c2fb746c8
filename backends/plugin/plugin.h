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
inline constexpr std::uint32_t kPluginInterface = 2;

// What whoever loads a plugin wants of its devices.
struct PluginOptions {
  // What allocations and the workspace of ops may take together on each, in bytes. 0, or more than
  // a device has: all of it.
  std::uint64_t memory_limit_bytes = 0;
};

struct Plugin {
  // These two come first, and are compared before anything else is looked at.
  std::uint32_t interface = kPluginInterface;
  const char* build_id = kPluginBuildId;

  BackendKind kind = BackendKind::kCpu;
  // The devices there are, by ordinal, as they are with these options; none is initialized. An
  // error, a full sentence, says why there are none: that is no fault.
  absl::StatusOr<std::vector<DeviceInfo>> (*probe)(const PluginOptions& options) = nullptr;
  // The device of this ordinal, not yet initialized. Invalid argument where there is none.
  absl::StatusOr<std::unique_ptr<Device>> (*make_device)(int ordinal,
                                                         const PluginOptions& options) = nullptr;
};

// The name of the one symbol that a plugin exports, a function of this type.
inline constexpr char kPluginSymbol[] = "acceld_plugin";
using PluginFunction = const Plugin*();

}  // namespace acceld

extern "C" __attribute__((visibility("default"))) const acceld::Plugin* acceld_plugin();
