#include "server/session/device_pool.h"

#include "backends/core/status.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "server/logging/logging.h"

namespace acceld {
namespace {

void LogError(LogLevel level, std::string_view message, BackendKind kind, int ordinal,
              const absl::Status& error) {
  Log(level, message,
      {{"device", std::string(Name(kind))},
       {"ordinal", ordinal},
       {"error", std::string(error.message())}});
}

// For a device that was lost: its destructor may hang in a broken driver.
void KeepForGood(std::unique_ptr<Device> device) {
  static auto* const mutex = new Mutex;
  static auto* const kept = new std::vector<std::unique_ptr<Device>>;
  MutexLock lock(*mutex);
  kept->push_back(std::move(device));
}

}  // namespace

absl::StatusOr<DevicePool::Slot> DevicePool::Open(const Registry::Choice& choice) const {
  Slot slot;
  ACCELD_ASSIGN_OR_RETURN(slot.device, Registry::MakeInitialized(choice));
  if (const absl::Status checked = options_.check ? options_.check(*slot.device) : absl::OkStatus();
      !checked.ok()) {
    if (GetReason(checked) == reason::kDeviceLost) KeepForGood(std::move(slot.device));
    return checked;
  }
  // Only now: the loss of a device that nobody uses yet is one more way to fail.
  slot.device->OnLost([kind = choice.entry->kind, ordinal = choice.ordinal,
                       on_lost = options_.on_lost](const absl::Status& error) {
    LogError(LogLevel::kError, "device lost", kind, ordinal, error);
    if (on_lost) on_lost({.kind = kind, .ordinal = ordinal, .error = error});
  });
  slot.scheduler = std::make_unique<Scheduler>(*slot.device);
  return slot;
}

absl::StatusOr<DevicePool::Choice> DevicePool::Choose(SelectionRequest request) {
  if (!request.kind.has_value()) request.kind = options_.preferred;
  MutexLock lock(mutex_);
  const auto open = [&](const Registry::Choice& choice) ACCELD_REQUIRES(mutex_) -> absl::Status {
    const std::pair key(choice.entry->kind, choice.ordinal);
    auto found = slots_.find(key);
    if (found == slots_.end()) {
      found = slots_.emplace(key, Open(choice)).first;
      if (const absl::Status& failure = found->second.status(); !failure.ok()) {
        LogError(LogLevel::kWarning, "device cannot be used", key.first, key.second, failure);
      }
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

absl::Status DevicePool::Failure(BackendKind kind, int ordinal) const {
  const auto slot = slots_.find({kind, ordinal});
  return slot == slots_.end() ? absl::OkStatus() : slot->second.status();
}

std::vector<DevicePool::DescribedBackend> DevicePool::Backends() const {
  std::vector<DescribedBackend> backends;
  MutexLock lock(mutex_);
  for (const RegistryEntry& entry : registry_.entries()) {
    DescribedBackend& backend = backends.emplace_back(
        DescribedBackend{.kind = entry.kind, .available = entry.available, .reason = entry.reason});
    std::vector<std::string> failures;
    for (const DeviceInfo& info : entry.devices) {
      const absl::Status failure = Failure(entry.kind, info.ordinal);
      if (failure.ok()) continue;
      failures.push_back(
          fmt::format("device {}: {}", info.ordinal, std::string(failure.message())));
    }
    if (failures.empty()) continue;
    backend.available = failures.size() < entry.devices.size();
    backend.reason = fmt::format("{}", fmt::join(failures, " "));
  }
  return backends;
}

std::vector<DevicePool::Described> DevicePool::Devices() const {
  std::vector<Described> devices;
  MutexLock lock(mutex_);
  for (const RegistryEntry& entry : registry_.entries()) {
    if (!entry.available) continue;
    for (const DeviceInfo& info : entry.devices) {
      if (!Failure(entry.kind, info.ordinal).ok()) continue;
      Described& described = devices.emplace_back(Described{.info = info, .supported_ops = {}});
      const auto slot = slots_.find({entry.kind, info.ordinal});
      if (slot == slots_.end()) continue;
      described.info.free_memory_bytes = slot->second->device->memory().free_bytes;
      described.supported_ops = slot->second->device->supported_ops();
    }
  }
  return devices;
}

}  // namespace acceld
