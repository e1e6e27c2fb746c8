// acceld: owns this machine's accelerators and lets many processes use them.

#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "backends/cpu/host_resources.h"
#include "backends/cpu/openblas_core.h"
#include "backends/cpu/parallel.h"
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

// The OpenMP library keeps threads spinning after a parallel region, or lets them sleep so deep
// that the next region starts milliseconds late; a short spin is best of both. And where the cpu
// device uses every core, each of its threads needs one of its own (LeaveOpenMpCore); where it uses
// fewer, several daemons would choose the same ones. Whether anything is set anew.
bool SetUpOpenMp(std::uint32_t cpu_threads) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) {
    return false;
  }
  setenv("GOMP_SPINCOUNT", "1000", 1);
  if (cpu_threads == 0 || static_cast<int>(cpu_threads) == acceld::UsableCores()) {
    setenv("OMP_PROC_BIND", "spread", 0);
  }
  return true;
}

bool SetUpOpenBlas() {
  const std::string core(acceld::BetterOpenBlasCore(acceld::OpenBlasCore()));
  if (core.empty() || std::getenv("OPENBLAS_CORETYPE") != nullptr) return false;
  setenv("OPENBLAS_CORETYPE", core.c_str(), 1);
  return true;
}

// Both libraries read their settings when they are loaded, before main, so the process starts
// itself once more with them.
void SetUpLibraries(std::uint32_t cpu_threads, char** argv) {
  const bool openmp = SetUpOpenMp(cpu_threads);
  const bool openblas = SetUpOpenBlas();
  if (!openmp && !openblas) return;
  // By its real path, which gives the process its name. Where this fails, the daemon is only
  // slower.
  std::error_code error;
  const std::string path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) execv(path.c_str(), argv);
}

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
  SetUpLibraries(config.cpu_threads, argv);
  acceld::LeaveOpenMpCore();
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
