// The daemon's devices: each is made, initialized and checked when the first session wants it, and
// then shared by all, with one scheduler in front of it.
#pragma once

#include <functional>
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

// A device that was lost; see Device::OnLost.
struct DeviceLoss {
  BackendKind kind = BackendKind::kCpu;
  int ordinal = 0;
  absl::Status error{};
};

struct DevicePoolOptions {
  // What a request that names no kind gets.
  std::optional<BackendKind> preferred{};
  // Looks at a device before anybody relies on it; one that it returns an error for is not used.
  std::function<absl::Status(Device&)> check{};
  // Called where a device that is in use was lost, from any thread; must not block.
  std::function<void(const DeviceLoss&)> on_lost{};
};

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

  // A backend as clients see it.
  struct DescribedBackend {
    BackendKind kind = BackendKind::kCpu;
    bool available = false;
    // Why it, or which of its devices, is not available; else empty.
    std::string reason{};
  };

  // `registry` is set up and probed.
  explicit DevicePool(Registry registry, DevicePoolOptions options = {})
      : registry_(std::move(registry)), options_(std::move(options)) {}

  // The best device that satisfies `request` and can be used. The pool keeps it for good; one that
  // fails is not tried again.
  absl::StatusOr<Choice> Choose(SelectionRequest request);

  // Every backend there is. One whose devices have all failed is not available.
  std::vector<DescribedBackend> Backends() const;

  // Every available device that has not failed, with its free memory as of now where a session has
  // asked for it; before, a card's is not known.
  std::vector<Described> Devices() const;

 private:
  struct Slot {
    std::unique_ptr<Device> device;
    std::unique_ptr<Scheduler> scheduler;
  };

  absl::StatusOr<Slot> Open(const Registry::Choice& choice) const;
  // Why the device failed; OK where it did not, or nobody has asked for it.
  absl::Status Failure(BackendKind kind, int ordinal) const ACCELD_REQUIRES(mutex_);

  const Registry registry_;
  const DevicePoolOptions options_;
  mutable Mutex mutex_;
  // By kind and ordinal; those that were asked for.
  std::map<std::pair<BackendKind, int>, absl::StatusOr<Slot>> slots_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld
