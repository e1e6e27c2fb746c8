#include "backends/core/device_info.h"

#include <algorithm>

namespace acceld {

Tile RecommendedTile(const Capabilities& capabilities, std::int64_t m, std::int64_t n,
                     std::int64_t k) {
  const std::int64_t smallest = std::min({m, n, k});
  if (capabilities.CanUseTensorCores(m, n, k)) {
    return smallest >= 512 ? Tile{128, 128, 32} : Tile{64, 64, 16};
  }
  if (smallest <= 64) return {16, 16, 16};
  if (smallest <= 512) return {64, 64, 16};
  return {128, 128, 8};
}

}  // namespace acceld
