// Copies and fills of bytes, split over threads where they are large.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acceld {

// The ranges do not overlap.
void CopyBytes(std::byte* target, const std::byte* source, std::uint64_t bytes, int threads);

// The same past the caches: faster where the target is in none and is not read at once.
void StreamBytes(std::byte* target, const std::byte* source, std::uint64_t bytes, int threads);

// Sets bytes to zero, past the caches where there are more than a core's hold.
void ZeroBytes(std::byte* target, std::uint64_t bytes, int threads);

void FillBytes(std::byte* target, std::uint8_t value, std::uint64_t bytes, int threads);

}  // namespace acceld
