// What a recorded program consists of.
#pragma once

#include <cstddef>
#include <variant>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/status.h"
#include "backends/ops/op.h"
#include "fmt/format.h"

namespace acceld {

// A program has at most this many items, whatever a daemon is configured to allow.
inline constexpr std::size_t kMaxProgramItems = 65536;

// A record of an event, or a wait for one.
struct EventItem {
  Event event{0};
  // Records the event; else waits for it.
  bool records = false;
};

// The addresses of an op are those it was recorded with.
using ProgramItem = std::variant<Op, EventItem>;

inline absl::Status ProgramTooLong(std::size_t items, std::size_t limit) {
  return InvalidArgument(fmt::format("A program has {} items; the limit is {}.", items, limit),
                         reason::kLimitExceeded);
}

}  // namespace acceld
