#include "backends/registry/builtin.h"

#include <memory>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {

Registry BuiltinRegistry(const CpuOptions& options) {
  Registry registry = Registry::WithDefaults();
  RegistryEntry cpu;
  cpu.kind = BackendKind::kCpu;
  cpu.factory = [options](int ordinal) -> absl::StatusOr<std::unique_ptr<Device>> {
    if (ordinal != 0) {
      return InvalidArgument(fmt::format("There is no cpu device {}; the only one is 0.", ordinal));
    }
    return MakeCpuDevice(options);
  };
  cpu.probe = [options] {
    return ProbeResult{.status = absl::OkStatus(), .devices = {MakeCpuDevice(options)->info()}};
  };
  registry.Register(std::move(cpu));
  registry.ProbeAll();
  return registry;
}

}  // namespace acceld
