// Backends in shared libraries, loaded where they are present (backends/plugin/plugin.h). For a
// daemon and for a program that uses devices in its own process.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/core/values.h"
#include "backends/plugin/plugin.h"
#include "backends/registry/registry.h"

namespace acceld {

// Loads a plugin, once and for good; loading it again gives the same one. Failed precondition, with
// the path and the reason, for what is no plugin of this very build.
absl::StatusOr<const Plugin*> LoadPlugin(const std::string& path);

// A plugin that was found, and what came of loading it.
struct LoadedPlugin {
  BackendKind kind = BackendKind::kCpu;
  std::string path{};
  absl::Status status{};
};

// For each kind of GPU, loads the plugin libacceld_KIND.so from the first of `folders` that has it,
// and registers its devices, with `options` of that kind or the defaults. A plugin that cannot be
// loaded is registered as not available, with the reason. Registry::ProbeAll is to follow.
//
// Devices may change what a thread that calls them has set; see backends/cuda/cuda_device.h.
std::vector<LoadedPlugin> RegisterPlugins(const std::vector<std::string>& folders,
                                          Registry& registry,
                                          const std::map<BackendKind, PluginOptions>& options = {});

// Where a program's plugins are: in its own folder, or in ../lib/acceld from there.
std::vector<std::string> DefaultPluginFolders();

}  // namespace acceld
