// A program whose buffers are known: checked whole, and ready to be handed to the device any number
// of times.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "backends/context/program_item.h"
#include "backends/core/handles.h"
#include "backends/device.h"

namespace acceld::internal {

using ProgramStep = std::variant<Work, EventItem>;

// Immutable. It keeps no memory of the device alive: who runs it does.
struct BoundProgram {
  // The base addresses of the allocations that its work names. None of them is ever reused, so the
  // steps are right for as long as all of these are allocated.
  std::vector<Address> buffers{};
  // Empty in a client library.
  std::vector<ProgramStep> steps{};
  // Those that steps name.
  std::vector<std::unique_ptr<const DeviceProgram>> device_programs{};
  // The steps that are events, in their order.
  std::vector<EventItem> events{};
};

}  // namespace acceld::internal
