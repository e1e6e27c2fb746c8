// Plain memory of this process, for AllocateHost of channels that stage all bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace acceld {

// Whole pages that read as zero. Out of memory for any size the system does not have.
absl::StatusOr<std::shared_ptr<std::byte>> AllocateHostPages(std::uint64_t bytes);

}  // namespace acceld
