// What names things in a backend: addresses, streams and events. None is ever reused while its
// backend lives, so a stale one is always reported and never reaches something else.
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

}  // namespace acceld
