// Memory of the card, where it takes a second attempt.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/driver.h"

namespace acceld::cuda {

// What `allocate` comes to, which returns a DriverResult; where that is out of memory, once more
// after the pool gave back what it kept, which waits for the card.
template <typename Allocate>
auto AllocateOrTrim(Driver& driver, Allocate allocate) -> decltype(allocate()) {
  auto data = allocate();
  if (data.status.code != DriverCode::kOutOfMemory) return data;
  if (DriverStatus trimmed = driver.TrimPool(); !trimmed.ok()) return {.status = trimmed};
  return allocate();
}

// As Driver::Allocate.
inline DriverResult<std::byte*> AllocateOrTrim(Driver& driver, StreamHandle stream,
                                               std::uint64_t bytes) {
  return AllocateOrTrim(driver, [&] { return driver.Allocate(stream, bytes); });
}

}  // namespace acceld::cuda
