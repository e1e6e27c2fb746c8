#include "backends/registry/matching.h"

#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace acceld::internal {
namespace {

// The devices of `entry`, or what stands for its only one while they are not known.
std::vector<DeviceInfo> DevicesOf(const RegistryEntry& entry) {
  if (!entry.devices.empty()) return entry.devices;
  DeviceInfo only;
  only.kind = entry.kind;
  only.capabilities = entry.capabilities;
  return {std::move(only)};
}

bool IsSelected(const DeviceInfo& device, const SelectionRequest& request) {
  if (!request.device.has_value()) return true;
  if (const int* ordinal = std::get_if<int>(&*request.device)) return device.ordinal == *ordinal;
  // Devices without a UUID cannot be named by one, not even by an empty one.
  return !device.uuid.empty() && device.uuid == std::get<std::string>(*request.device);
}

// What of `entry` as a whole does not satisfy `request`; empty where nothing.
std::string EntryMismatch(const RegistryEntry& entry, const SelectionRequest& request) {
  if (request.kind.has_value() && *request.kind != entry.kind) {
    return fmt::format("The request is for {}.", Name(*request.kind));
  }
  if (request.require_gpu && !IsGpu(entry.kind)) return "It is not a GPU.";
  if (!entry.available) return entry.reason;
  return "";
}

}  // namespace

std::vector<int> SatisfyingOrdinals(const RegistryEntry& entry, const SelectionRequest& request) {
  std::vector<int> ordinals;
  if (!EntryMismatch(entry, request).empty()) return ordinals;
  for (const DeviceInfo& device : DevicesOf(entry)) {
    if (IsSelected(device, request) && request.MissingCapability(device.capabilities).empty()) {
      ordinals.push_back(device.ordinal);
    }
  }
  return ordinals;
}

std::string WhyPassedOver(const RegistryEntry& entry, const SelectionRequest& request) {
  std::string mismatch = EntryMismatch(entry, request);
  if (!mismatch.empty()) return mismatch;
  std::string reasons;
  for (const DeviceInfo& device : DevicesOf(entry)) {
    if (!IsSelected(device, request)) continue;
    const std::string_view missing = request.MissingCapability(device.capabilities);
    if (!reasons.empty()) reasons += ' ';
    reasons += fmt::format("Device {} lacks {}.", device.ordinal, missing);
  }
  if (!reasons.empty()) return reasons;
  return fmt::format("It has no device {}.", ToString(*request.device));
}

}  // namespace acceld::internal
