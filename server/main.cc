// acceld: owns this machine's accelerators and lets many processes use them.

#include <malloc.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "backends/cpu/library_setup.h"
#include "backends/registry/builtin.h"
#include "backends/registry/plugin_loader.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "server/config/exit_status.h"
#include "server/config/flags.h"
#include "server/daemon.h"
#include "server/logging/logging.h"
#include "server/version.h"

namespace {

// Messages and what is staged come and go in pieces of up to a MiB. To give such memory back to the
// system each time, and to touch it anew, takes longer than the copies through it.
void KeepFreedMemory() {
  constexpr int kMappedFromBytes = 8 << 20;
  constexpr int kKeptBytes = 64 << 20;
  mallopt(M_MMAP_THRESHOLD, kMappedFromBytes);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
}

// Adds the backends of plugins, and probes all.
void AddPlugins(const acceld::Config& config, acceld::Registry& registry) {
  std::vector<std::string> folders{config.plugin_folder};
  if (config.plugin_folder.empty()) folders = acceld::DefaultPluginFolders();
  const auto plugins = acceld::RegisterPlugins(
      folders, registry,
      {{acceld::BackendKind::kCuda, {.memory_limit_bytes = config.cuda_memory_limit_bytes}}});
  registry.ProbeAll();
  acceld::Log(acceld::LogLevel::kDebug, "looked for plugins",
              {{"folders", fmt::format("{}", fmt::join(folders, ","))}, {"found", plugins.size()}});
  for (const acceld::LoadedPlugin& plugin : plugins) {
    const acceld::RegistryEntry& entry = *registry.Find(plugin.kind);
    if (entry.available) {
      acceld::Log(acceld::LogLevel::kInfo, "found devices by a plugin",
                  {{"plugin", plugin.path}, {"devices", entry.devices.size()}});
    } else {
      acceld::Log(plugin.status.ok() ? acceld::LogLevel::kInfo : acceld::LogLevel::kWarning,
                  "a plugin brings no devices",
                  {{"plugin", plugin.path}, {"reason", entry.reason}});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const acceld::Config config = acceld::ParseCommandLineOrExit(argc, argv, acceld::kVersion);
  acceld::SetUpLibraries(static_cast<int>(config.cpu_threads), argv);
  KeepFreedMemory();
  acceld::SetUpLogging(config.log_level, config.log_format);
  acceld::BlockDaemonSignals();
  acceld::Registry registry =
      acceld::BuiltinRegistry({.threads = static_cast<int>(config.cpu_threads),
                               .memory_limit_bytes = config.cpu_memory_limit_bytes});
  AddPlugins(config, registry);
  const absl::Status ran = acceld::RunDaemon(config, std::move(registry));
  if (ran.ok()) return EXIT_SUCCESS;
  acceld::Log(acceld::LogLevel::kError, "acceld cannot run",
              {{"error", std::string(ran.message())}});
  // An address that cannot be listened on is a mistake of the configuration.
  return absl::IsInvalidArgument(ran) ? acceld::kExitUsage : EXIT_FAILURE;
}
