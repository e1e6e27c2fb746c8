// Memory of the driver's pool, where it takes a second attempt.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/driver.h"

namespace acceld::cuda {

// As Driver::Allocate; where that is out of memory, once more after the pool gave back what it
// kept.
DriverResult<std::byte*> AllocateOrTrim(Driver& driver, StreamHandle stream, std::uint64_t bytes);

}  // namespace acceld::cuda
