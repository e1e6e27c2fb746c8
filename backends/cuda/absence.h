// Why no card can be used, in words that say how to mend it.
#pragma once

#include <optional>
#include <string>

namespace acceld::cuda {

// What CUDA's runtime answers where there are no cards.
struct Absence {
  // "cudaErrorNoDevice (no CUDA-capable device is detected)"; empty where the count is 0.
  std::string error{};
  // CUDA's version, as 1000 * major + 10 * minor: that of the installed driver, 0 where there is
  // none, and that of the plugin's runtime.
  int driver_version = 0;
  int runtime_version = 0;
  // CUDA_VISIBLE_DEVICES, where it is set.
  std::optional<std::string> visible_devices{};
};

// A full sentence that begins with "There is no CUDA device".
std::string WhyAbsent(const Absence& absence);

}  // namespace acceld::cuda
