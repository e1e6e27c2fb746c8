#include "backends/cuda/real/describe_card.h"

#include <cstdint>
#include <string>

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

}  // namespace

DeviceInfo DescribeCard(const cudaDeviceProp& properties, int ordinal, bool reaches_a_peer) {
  // For what CUDA has no attribute: since which architecture.
  const int capability = properties.major * 10 + properties.minor;
  return {
      .kind = BackendKind::kCuda,
      .ordinal = ordinal,
      .uuid = ToString(properties.uuid),
      .name = properties.name,
      .compute_capability_major = properties.major,
      .compute_capability_minor = properties.minor,
      .total_memory_bytes = properties.totalGlobalMem,
      .memory_kind = MemoryKind::kDevice,
      .capabilities = {.fp16 = capability >= 53,
                       .bf16 = capability >= 80,
                       .fp8 = capability >= 89,
                       .tensor_cores = capability >= 70,
                       .peer_access = reaches_a_peer,
                       .unified_memory = properties.integrated != 0,
                       .cluster_launch = properties.clusterLaunch != 0,
                       .async_copy = capability >= 80,
                       .max_threads_per_block = properties.maxThreadsPerBlock,
                       .max_shared_memory_per_block_bytes =
                           static_cast<std::int64_t>(properties.sharedMemPerBlockOptin),
                       .warp_size = properties.warpSize},
  };
}

}  // namespace acceld::cuda
