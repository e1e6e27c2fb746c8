// Copies and fills that write past the caches: nearly twice as fast as memcpy where the target is
// in no cache, since the target's lines are not read first, and what the caches hold stays. Where
// the target is read again at once, memcpy is better.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acceld {

// From here on the target of a copy is better written past the caches, if nothing is going to read
// it at once.
inline constexpr std::uint64_t kStreamingFromBytes = 128 * 1024;

// Copies `bytes` bytes; the ranges do not overlap. As memcpy for those who synchronize with this
// thread later.
void StreamingCopy(std::byte* target, const std::byte* source, std::uint64_t bytes);

// Sets `bytes` bytes to zero, likewise.
void StreamingZero(std::byte* target, std::uint64_t bytes);

}  // namespace acceld
