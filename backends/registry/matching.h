// Whether a registry's entry satisfies a request, and with which of its devices.
#pragma once

#include <string>
#include <vector>

#include "backends/registry/registry.h"

namespace acceld::internal {

// The ordinals of the devices of `entry` that satisfy `request`, in the entry's order; none where
// the entry is passed over.
std::vector<int> SatisfyingOrdinals(const RegistryEntry& entry, const SelectionRequest& request);

// Why `entry`, none of whose devices satisfies `request`, is passed over; a full sentence.
std::string WhyPassedOver(const RegistryEntry& entry, const SelectionRequest& request);

}  // namespace acceld::internal
