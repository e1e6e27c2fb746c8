#include "backends/cuda/real/cards.h"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "backends/cuda/absence.h"
#include "backends/cuda/real/cuda_errors.h"
#include "fmt/format.h"

namespace acceld::cuda {
namespace {

// As nvidia-smi writes it: "GPU-" and the bytes in groups of 4, 2, 2, 2 and 6.
std::string ToString(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

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

DeviceInfo DescribeCard(int ordinal, int count) {
  DeviceInfo info{.kind = BackendKind::kCuda, .ordinal = ordinal};
  info.memory_kind = MemoryKind::kDevice;
  info.capabilities.unified_memory = false;
  cudaDeviceProp properties;
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, ordinal);
      error != cudaSuccess) {
    (void)cudaGetLastError();
    info.name = fmt::format("unavailable: {}", Describe(error));
    return info;
  }
  const int capability = properties.major * 10 + properties.minor;
  info.uuid = ToString(properties.uuid);
  info.name = properties.name;
  info.compute_capability_major = properties.major;
  info.compute_capability_minor = properties.minor;
  info.total_memory_bytes = properties.totalGlobalMem;
  info.free_memory_bytes = properties.totalGlobalMem;
  info.capabilities = {
      .fp16 = capability >= 53,
      .bf16 = capability >= 80,
      .fp8 = capability >= 89,
      .tensor_cores = capability >= 70,
      .peer_access = ReachesAPeer(ordinal, count),
      .unified_memory = properties.integrated != 0,
      .cluster_launch = properties.clusterLaunch != 0,
      .async_copy = capability >= 80,
      .max_threads_per_block = properties.maxThreadsPerBlock,
      .max_shared_memory_per_block_bytes =
          static_cast<std::int64_t>(properties.sharedMemPerBlockOptin),
      .warp_size = properties.warpSize,
  };
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
  for (int ordinal = 0; ordinal < count; ++ordinal) cards.push_back(DescribeCard(ordinal, count));
  return cards;
}

}  // namespace acceld::cuda
