// What a library's handles are used for. A handle has its stream set for each call, and may have
// streams of its own behind that. Between two calls of a capture other streams are worked with, so
// what is captured has a handle of its own: nothing that runs comes to be part of a graph.
#pragma once

#include <cstdint>

namespace acceld::cuda {

enum class StreamUse : std::uint8_t { kRun, kCapture };

// Null until made.
template <typename Handle>
struct HandlePerUse {
  Handle run = nullptr;
  // Takes memory of the card; made only where something is captured.
  Handle capture = nullptr;

  Handle& For(StreamUse use) { return use == StreamUse::kCapture ? capture : run; }
};

}  // namespace acceld::cuda
