#include "server/session/device_pool.h"

#include "backends/core/status.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace acceld {

absl::StatusOr<DevicePool::Choice> DevicePool::Choose(SelectionRequest request) {
  if (!request.kind.has_value()) request.kind = preferred_;
  MutexLock lock(mutex_);
  const auto open = [&](const Registry::Choice& choice) ACCELD_REQUIRES(mutex_) -> absl::Status {
    const std::pair key(choice.entry->kind, choice.ordinal);
    auto found = slots_.find(key);
    if (found == slots_.end()) {
      absl::StatusOr<Slot> slot = Slot{};
      absl::StatusOr<std::unique_ptr<Device>> device = Registry::MakeInitialized(choice);
      if (device.ok() && check_ != nullptr) {
        if (absl::Status fit = check_(**device); !fit.ok()) device = std::move(fit);
      }
      if (device.ok()) {
        slot->device = *std::move(device);
        slot->scheduler = std::make_unique<Scheduler>(*slot->device);
      } else {
        slot = device.status();
      }
      found = slots_.emplace(key, std::move(slot)).first;
    }
    return found->second.status();
  };
  ACCELD_ASSIGN_OR_RETURN(Registry::Walk walk, registry_.WalkCandidates(request, open));
  const Slot& slot = *slots_.at({walk.chosen.entry->kind, walk.chosen.ordinal});
  std::vector<std::string> steps;
  for (const Attempt& attempt : walk.attempts) steps.push_back(attempt.ToString());
  return Choice{.device = slot.device.get(),
                .scheduler = slot.scheduler.get(),
                .explanation = fmt::format("{}", fmt::join(steps, "; "))};
}

std::vector<DevicePool::Described> DevicePool::Devices() const {
  std::vector<Described> devices;
  MutexLock lock(mutex_);
  for (const RegistryEntry& entry : registry_.entries()) {
    if (!entry.available) continue;
    for (const DeviceInfo& info : entry.devices) {
      Described& described = devices.emplace_back(Described{.info = info, .supported_ops = {}});
      const auto slot = slots_.find({entry.kind, info.ordinal});
      if (slot == slots_.end() || !slot->second.ok()) continue;
      described.info.free_memory_bytes = slot->second->device->memory().free_bytes;
      described.supported_ops = slot->second->device->supported_ops();
    }
  }
  return devices;
}

}  // namespace acceld
