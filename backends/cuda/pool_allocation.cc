#include "backends/cuda/pool_allocation.h"

namespace acceld::cuda {

DriverResult<std::byte*> AllocateOrTrim(Driver& driver, StreamHandle stream, std::uint64_t bytes) {
  DriverResult<std::byte*> data = driver.Allocate(stream, bytes);
  if (data.status.code != DriverCode::kOutOfMemory) return data;
  if (DriverStatus trimmed = driver.TrimPool(); !trimmed.ok()) return {.status = trimmed};
  return driver.Allocate(stream, bytes);
}

}  // namespace acceld::cuda
