// What a device is and can do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/core/values.h"

namespace acceld {

// What a device's hardware offers. The default is the conservative profile of a host processor.
struct Capabilities {
  bool fp16 = false;
  bool bf16 = false;
  bool fp8 = false;
  bool tensor_cores = false;
  bool peer_access = false;
  bool unified_memory = true;
  bool cluster_launch = false;
  bool async_copy = false;
  std::int64_t max_threads_per_block = 1024;
  std::int64_t max_shared_memory_per_block_bytes = 48 * 1024;
  std::int64_t warp_size = 1;

  // Whether any reduced-precision format is there: fp16, bf16 or fp8.
  bool SupportsMixedPrecision() const { return fp16 || bf16 || fp8; }

  // Whether an [m, k] x [k, n] product can use tensor cores: they are there, and all three sizes
  // are divisible by 16.
  bool CanUseTensorCores(std::int64_t m, std::int64_t n, std::int64_t k) const {
    return tensor_cores && m % 16 == 0 && n % 16 == 0 && k % 16 == 0;
  }

  friend bool operator==(const Capabilities&, const Capabilities&) = default;
};

// One device.
struct DeviceInfo {
  BackendKind kind = BackendKind::kCpu;
  // The device's number among those of its kind, from 0.
  int ordinal = 0;
  // Stable across restarts where the hardware has such a name, such as "GPU-…".
  std::string uuid{};
  // The model, for people.
  std::string name{};
  // CUDA's compute capability; 0.0 where it means nothing.
  int compute_capability_major = 0;
  int compute_capability_minor = 0;
  std::uint64_t total_memory_bytes = 0;
  // Not known of a card before it is initialized: others may use it, and only its context tells.
  std::optional<std::uint64_t> free_memory_bytes{};
  MemoryKind memory_kind = MemoryKind::kHost;
  Capabilities capabilities{};

  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

// The block of a matrix product that one group of threads computes.
struct Tile {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;

  friend bool operator==(const Tile&, const Tile&) = default;
};

// The tile for an [m, k] x [k, n] product. With s the smallest of the three: where tensor cores can
// be used, 128x128x32 for s >= 512, else 64x64x16; otherwise 16x16x16 for s <= 64, 64x64x16 for s
// <= 512, else 128x128x8.
Tile RecommendedTile(const Capabilities& capabilities, std::int64_t m, std::int64_t n,
                     std::int64_t k);

}  // namespace acceld
