#include "backends/registry/plugin_loader.h"

#include <dlfcn.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {
namespace {

absl::Status Refused(const std::string& path, std::string_view why) {
  return absl::FailedPreconditionError(fmt::format("The plugin {} cannot be used: {}.", path, why));
}

std::string FileName(BackendKind kind) { return fmt::format("libacceld_{}.so", Name(kind)); }

std::optional<std::string> FindFile(const std::string& name,
                                    const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    // By its whole path: dlopen looks for a bare name elsewhere.
    if (std::filesystem::exists(path, error)) return std::filesystem::absolute(path).string();
  }
  return std::nullopt;
}

ProbeResult Probe(const Plugin& plugin, const PluginOptions& options) {
  absl::StatusOr<std::vector<DeviceInfo>> devices = plugin.probe(options);
  if (!devices.ok()) return {.status = devices.status(), .devices = {}};
  return {.status = absl::OkStatus(), .devices = *std::move(devices)};
}

RegistryEntry EntryFor(BackendKind kind, const absl::StatusOr<const Plugin*>& plugin,
                       const PluginOptions& options) {
  RegistryEntry entry{.kind = kind};
  if (plugin.ok()) {
    entry.probe = [plugin = *plugin, options] { return Probe(*plugin, options); };
    entry.factory = [plugin = *plugin, options](int ordinal) {
      return plugin->make_device(ordinal, options);
    };
  } else {
    const absl::string_view message = plugin.status().message();
    entry.reason = std::string(message.data(), message.size());
  }
  return entry;
}

}  // namespace

absl::StatusOr<const Plugin*> LoadPlugin(const std::string& path) {
  // A device's threads and a library's own state may outlive any handle.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return Refused(path, dlerror());
  const auto function = reinterpret_cast<PluginFunction*>(dlsym(library, kPluginSymbol));
  if (function == nullptr) {
    return Refused(path, fmt::format("it has no function {}", kPluginSymbol));
  }
  const Plugin* const plugin = function();
  if (plugin->interface != kPluginInterface) {
    return Refused(path, fmt::format("it is a plugin of interface {}, and this program's is {}",
                                     plugin->interface, kPluginInterface));
  }
  if (std::string_view(plugin->build_id) != kPluginBuildId) {
    return Refused(path, fmt::format("it is of another build of acceld, {}, and this program is {}",
                                     plugin->build_id, kPluginBuildId));
  }
  return plugin;
}

std::vector<LoadedPlugin> RegisterPlugins(const std::vector<std::string>& folders,
                                          Registry& registry,
                                          const std::map<BackendKind, PluginOptions>& options) {
  std::vector<LoadedPlugin> loaded;
  for (const auto& [kind, name, aliases] : EnumTable<BackendKind>::kEntries) {
    if (!IsGpu(kind)) continue;
    const std::string file = FileName(kind);
    const std::optional<std::string> path = FindFile(file, folders);
    if (!path.has_value()) {
      // Without the folders: clients see it, once for each kind.
      registry.Register({.kind = kind, .reason = fmt::format("There is no plugin {}.", file)});
      continue;
    }
    absl::StatusOr<const Plugin*> plugin = LoadPlugin(*path);
    if (plugin.ok() && (*plugin)->kind != kind) {
      plugin =
          Refused(*path, fmt::format("its devices are {}, not {}", Name((*plugin)->kind), name));
    }
    const auto wanted = options.find(kind);
    registry.Register(
        EntryFor(kind, plugin, wanted != options.end() ? wanted->second : PluginOptions()));
    loaded.push_back({.kind = kind, .path = *path, .status = plugin.status()});
  }
  return loaded;
}

std::vector<std::string> DefaultPluginFolders() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const std::filesystem::path folder = program.parent_path();
  return {folder.string(), (folder.parent_path() / "lib" / "acceld").string()};
}

}  // namespace acceld
