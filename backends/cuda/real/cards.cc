#include "backends/cuda/real/cards.h"

#include <cuda_runtime_api.h>

#include <cstdlib>

#include "absl/status/status.h"
#include "backends/cuda/absence.h"
#include "backends/cuda/real/cuda_errors.h"
#include "backends/cuda/real/describe_card.h"
#include "fmt/format.h"

namespace acceld::cuda {
namespace {

bool ReachesAPeer(int ordinal, int count) {
  for (int peer = 0; peer < count; ++peer) {
    int reaches = 0;
    if (peer == ordinal) continue;
    if (cudaDeviceCanAccessPeer(&reaches, ordinal, peer) != cudaSuccess) {
      // No later call is to return it.
      (void)cudaGetLastError();
    } else if (reaches != 0) {
      return true;
    }
  }
  return false;
}

// With the reason for a name where the card cannot be looked at.
DeviceInfo LookAt(int ordinal, int count) {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, ordinal);
  if (error == cudaSuccess) return DescribeCard(properties, ordinal, ReachesAPeer(ordinal, count));
  (void)cudaGetLastError();
  DeviceInfo info{.kind = BackendKind::kCuda, .ordinal = ordinal};
  info.name = fmt::format("unavailable: {}", Describe(error));
  info.memory_kind = MemoryKind::kDevice;
  info.capabilities.unified_memory = false;
  return info;
}

}  // namespace

absl::StatusOr<std::vector<DeviceInfo>> FindCards() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    (void)cudaGetLastError();
    Absence absence;
    if (error != cudaSuccess) absence.error = Describe(error);
    (void)cudaDriverGetVersion(&absence.driver_version);
    (void)cudaRuntimeGetVersion(&absence.runtime_version);
    if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) {
      absence.visible_devices = visible;
    }
    return absl::UnavailableError(WhyAbsent(absence));
  }
  std::vector<DeviceInfo> cards;
  for (int ordinal = 0; ordinal < count; ++ordinal) cards.push_back(LookAt(ordinal, count));
  return cards;
}

}  // namespace acceld::cuda
