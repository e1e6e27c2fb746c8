// On which cores things run.
#pragma once

#include <vector>

#include "absl/status/status.h"

namespace acceld::bench {

// The cores this process may use, in ascending order.
std::vector<int> UsableCores();

// Puts the calling thread, and those it makes from then on, on one core.
absl::Status PinToCore(int core);

}  // namespace acceld::bench
