#include "backends/cpu/library_setup.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "backends/cpu/host_resources.h"
#include "backends/cpu/openblas_core.h"
#include "backends/cpu/parallel.h"

namespace acceld {
namespace {

// The OpenMP library keeps threads spinning after a parallel region, or lets them sleep so deep
// that the next region starts milliseconds late; a short spin is best of both. And where the cpu
// device uses every core, each of its threads needs one of its own (LeaveOpenMpCore); where it uses
// fewer, several programs would choose the same ones. Whether anything is set anew.
bool SetUpOpenMp(int cpu_threads) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) {
    return false;
  }
  if (setenv("GOMP_SPINCOUNT", "1000", 1) != 0) return false;
  if (cpu_threads == 0) cpu_threads = DefaultThreads();
  if (cpu_threads == UsableCores()) setenv("OMP_PROC_BIND", "spread", 0);
  return true;
}

bool SetUpOpenBlas() {
  const std::string core(BetterOpenBlasCore(OpenBlasCore()));
  if (core.empty() || std::getenv("OPENBLAS_CORETYPE") != nullptr) return false;
  return setenv("OPENBLAS_CORETYPE", core.c_str(), 1) == 0;
}

}  // namespace

void SetUpLibraries(int cpu_threads, char** argv) {
  // First, since the program that is started anew has the cores that this thread has.
  LeaveOpenMpCore();
  const bool openmp = SetUpOpenMp(cpu_threads);
  const bool openblas = SetUpOpenBlas();
  if (!openmp && !openblas) return;
  // By its real path, which gives the process its name.
  std::error_code error;
  const std::string path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) execv(path.c_str(), argv);
}

}  // namespace acceld
