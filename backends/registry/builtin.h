// The registry of the backends that are linked into the program.
#pragma once

#include "backends/cpu/cpu_device.h"
#include "backends/registry/registry.h"

namespace acceld {

// Registry::WithDefaults with a CPU that is probed and can be made, as `options` say.
Registry BuiltinRegistry(const CpuOptions& options);

}  // namespace acceld
