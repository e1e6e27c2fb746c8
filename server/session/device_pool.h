// The daemon's devices: each is made and initialized when the first session wants it, and then
// shared by all, with one scheduler in front of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/core/mutex.h"
#include "backends/device.h"
#include "backends/registry/registry.h"
#include "server/scheduler/scheduler.h"

namespace acceld {

// Thread-safe.
class DevicePool {
 public:
  // A device for a session.
  struct Choice {
    Device* device = nullptr;
    Scheduler* scheduler = nullptr;
    // Why this one, for people.
    std::string explanation;
  };

  // A device as clients see it.
  struct Described {
    DeviceInfo info;
    // Of a device that no session has asked for yet, none are known.
    OpSet supported_ops;
  };

  // Whether a device that was initialized is fit for use.
  using Check = absl::Status (*)(Device& device);

  // `registry` is set up and probed. A request that names no kind gets `preferred`, if there is
  // one. A device that `check` finds unfit counts as one that failed to initialize.
  explicit DevicePool(Registry registry, std::optional<BackendKind> preferred = std::nullopt,
                      Check check = nullptr)
      : registry_(std::move(registry)), preferred_(preferred), check_(check) {}

  // The best device that satisfies `request` and can be initialized. The pool keeps it for good.
  absl::StatusOr<Choice> Choose(SelectionRequest request);

  const Registry& registry() const { return registry_; }

  // Every available device, with its free memory as of now.
  std::vector<Described> Devices() const;

 private:
  struct Slot {
    std::unique_ptr<Device> device;
    std::unique_ptr<Scheduler> scheduler;
  };

  const Registry registry_;
  const std::optional<BackendKind> preferred_;
  const Check check_;
  mutable Mutex mutex_;
  // By kind and ordinal; those that were asked for, and failed to initialize or not.
  std::map<std::pair<BackendKind, int>, absl::StatusOr<Slot>> slots_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld
