// What this process may use of the machine it runs on.
#pragma once

#include <cstdint>
#include <string>

namespace acceld {

// The processors this process may run on at once: the lesser of its affinity mask and the CPU quota
// of its cgroup (version 1 or 2) and that group's ancestors, rounded up; at least 1. `root` is the
// root of the file system, for tests.
int UsableCores(const std::string& root = "");

// The lesser of the machine's memory and the memory limit of this process's cgroup (version 1 or 2)
// and that group's ancestors, in bytes.
std::uint64_t UsableMemoryBytes(const std::string& root = "");

// The processor's model, such as "AMD EPYC 9354"; "CPU" where the system does not say.
std::string ProcessorName(const std::string& root = "");

}  // namespace acceld
