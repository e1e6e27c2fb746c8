#include "backends/cuda/absence.h"

#include "fmt/format.h"

namespace acceld::cuda {
namespace {

std::string Version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

std::string WhyAbsent(const Absence& absence) {
  std::string why = "There is no CUDA device: ";
  if (absence.driver_version == 0) {
    why += "no NVIDIA driver is installed, as there is no libcuda.so.1";
  } else if (absence.driver_version / 1000 < absence.runtime_version / 1000) {
    // A driver serves every version with its own major number, and older ones.
    why += fmt::format("the NVIDIA driver is for CUDA up to {}, and this plugin is built with {}",
                       Version(absence.driver_version), Version(absence.runtime_version));
  } else if (absence.visible_devices.has_value()) {
    why += fmt::format("the NVIDIA driver shows none, with CUDA_VISIBLE_DEVICES \"{}\"",
                       *absence.visible_devices);
  } else {
    why += "the NVIDIA driver finds none";
  }
  if (!absence.error.empty()) why += fmt::format("; {}", absence.error);
  return why + ".";
}

}  // namespace acceld::cuda
