// The first card, by the cuda plugin, in the test's own process.
#pragma once

#include <memory>

#include "backends/compute_backend.h"

namespace acceld::conformance {

// A backend that is not initialized yet. Ends the program, and says why, where there is no card.
std::unique_ptr<ComputeBackend> MakeCardInProcess();

}  // namespace acceld::conformance
