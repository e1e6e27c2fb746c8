// What names things in a backend: addresses, streams, events and programs. None is ever reused
// while its backend lives, so a stale one is always reported and never reaches something else.
#pragma once

#include <cstdint>

namespace acceld {

// A device address. 0 is never valid. Arithmetic inside an allocation is allowed (`base + bytes`).
using Address = std::uint64_t;

// A sequence of work: what is submitted to one stream runs in that order.
enum class Stream : std::uint64_t {};

// The stream of calls that name none. It does not wait for other streams.
inline constexpr Stream kDefaultStream{0};

// A mark in a stream that other streams and the host can wait for.
enum class Event : std::uint64_t {};

// A recorded sequence of work, to be replayed.
enum class Program : std::uint64_t {};

// In a replay, puts the allocation that starts at `replacement` where the program was recorded with
// the one that starts at `recorded`.
struct Rebinding {
  Address recorded = 0;
  Address replacement = 0;
};

}  // namespace acceld
