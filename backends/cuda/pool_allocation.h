// Calls that need memory of the card, where it takes a second attempt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "backends/cuda/driver.h"

namespace acceld::cuda {

// What `allocate` comes to, which returns a DriverResult; where that is out of memory, once more
// after `wait`, which waits for what gives memory back to the pool, and after the pool gave that
// back to the card.
template <typename Allocate, typename Wait>
auto AllocateOrTrim(Driver& driver, Allocate allocate, Wait wait) -> decltype(allocate()) {
  auto data = allocate();
  if (data.status.code != DriverCode::kOutOfMemory) return data;
  for (DriverStatus status : {wait(), driver.TrimPool()}) {
    if (status.code == DriverCode::kDeviceLost) return {.status = std::move(status)};
  }
  return allocate();
}

// The same for a call that returns a DriverStatus, without waiting. Out of memory is what a library
// comes to that is first used, and what a kernel comes to whose code is first loaded, too.
template <typename Call>
DriverStatus CallOrTrim(Driver& driver, Call call) {
  DriverStatus status = call();
  if (status.code != DriverCode::kOutOfMemory) return status;
  if (DriverStatus trimmed = driver.TrimPool(); !trimmed.ok()) return trimmed;
  return call();
}

// As Driver::Allocate; waits for all work.
inline DriverResult<std::byte*> AllocateOrTrim(Driver& driver, StreamHandle stream,
                                               std::uint64_t bytes) {
  return AllocateOrTrim(
      driver, [&] { return driver.Allocate(stream, bytes); },
      [&] { return driver.SynchronizeAll(); });
}

}  // namespace acceld::cuda
