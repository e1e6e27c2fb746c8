#include "backends/cpu/openblas_core.h"

#include <cblas.h>

namespace acceld {

std::string_view OpenBlasCore() { return openblas_get_corename(); }

std::string_view BetterOpenBlasCore(std::string_view recognized) {
#if defined(__x86_64__)
  // Its name for whatever it does not know.
  if (recognized != "Prescott") return {};
  if (__builtin_cpu_supports("x86-64-v4")) return "SkylakeX";
  if (__builtin_cpu_supports("x86-64-v3")) return "Haswell";
#endif
  return {};
}

}  // namespace acceld
