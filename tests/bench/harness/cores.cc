#include "tests/bench/harness/cores.h"

#include <sched.h>

#include <cerrno>

#include "fmt/format.h"

namespace acceld::bench {

std::vector<int> UsableCores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

absl::Status PinToCore(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, fmt::format("The thread cannot run on core {}.", core));
}

}  // namespace acceld::bench
