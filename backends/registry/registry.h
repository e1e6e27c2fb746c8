// The backends there are, which of them are available, and which one a request gets.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/core/device_info.h"
#include "backends/core/values.h"
#include "backends/device.h"
#include "backends/registry/selection_request.h"

namespace acceld {

// What a look at the hardware found: the devices a loaded driver reports, or why there are none.
struct ProbeResult {
  absl::Status status;
  std::vector<DeviceInfo> devices;
};

// One kind of backend.
struct RegistryEntry {
  BackendKind kind = BackendKind::kCpu;
  bool available = false;
  // Why it is not available, a full sentence; empty where it is.
  std::string reason{};
  // Higher is preferred; the kind's default where not set.
  std::optional<int> priority{};
  // Those of the first device, where `devices` are known.
  Capabilities capabilities{};
  std::vector<DeviceInfo> devices{};
  // Makes the device of this ordinal, not yet initialized.
  std::function<absl::StatusOr<std::unique_ptr<Device>>(int ordinal)> factory{};
  // Finds out `available`, `reason`, `devices` and `capabilities`; where empty, they stay as given.
  std::function<ProbeResult()> probe{};

  int EffectivePriority() const { return priority.value_or(DefaultPriority(kind)); }
};

// One step of Registry::Open, for logs and for the client.
struct Attempt {
  enum class Outcome {
    kPassedOver,  // did not satisfy the request
    kFailed,      // satisfied it and failed to initialize
    kChosen,
  };

  BackendKind kind = BackendKind::kCpu;
  // None where a whole kind was passed over.
  std::optional<int> ordinal{};
  Outcome outcome = Outcome::kPassedOver;
  // Why, a full sentence.
  std::string reason{};

  // "cuda: passed over: No cuda backend is part of this build."
  std::string ToString() const;
};

// A device that was chosen and initialized.
struct OpenedDevice {
  std::unique_ptr<Device> device{};
  BackendKind kind = BackendKind::kCpu;
  int ordinal = 0;
  // As in Registry::Walk.
  std::vector<Attempt> attempts{};
};

// Set up by Register and ProbeAll from one thread; from then on its const functions may be called
// from any. Pointers to entries are valid until the next Register or ProbeAll.
class Registry {
 public:
  // One device of an entry.
  struct Choice {
    const RegistryEntry* entry = nullptr;
    int ordinal = 0;
  };

  // An empty registry.
  Registry() = default;

  // One entry for each kind: the CPU available, but without a factory (BuiltinRegistry in builtin.h
  // has one), the others not part of this build.
  static Registry WithDefaults();

  // Adds `entry`, or replaces the one of its kind, whose place in registration order it takes.
  void Register(RegistryEntry entry);

  // Runs every entry's probe. An entry is available where its probe found a device.
  void ProbeAll();

  // In registration order.
  const std::vector<RegistryEntry>& entries() const { return entries_; }

  // The entry of `kind`; null where there is none.
  const RegistryEntry* Find(BackendKind kind) const;

  // The satisfying entry of highest priority; ties go to the kind's higher default priority, then
  // to the one registered first. Where none satisfies, an unsupported error that says for each
  // entry why not.
  //
  // Where an entry's devices are known, it satisfies a request if a single one of them does, by
  // its own capabilities; else by the entry's, and only the ordinal 0 can be asked for.
  absl::StatusOr<const RegistryEntry*> Select(const SelectionRequest& request) const;

  // Every satisfying entry, best first as in Select, except that the CPU, where it satisfies, comes
  // last whatever its priority.
  std::vector<const RegistryEntry*> FallbackChain(const SelectionRequest& request) const;

  // The satisfying devices of the fallback chain, in the order in which they are tried.
  std::vector<Choice> Candidates(const SelectionRequest& request) const;

  // The entry that serves ops of this class best. Matmul, convolution and attention prefer tensor
  // cores; otherwise the best available, as in Select. An invalid class is an invalid argument.
  absl::StatusOr<const RegistryEntry*> Route(OpClass op_class) const;

  // What walking the candidates came to.
  struct Walk {
    Choice chosen{};
    // The kinds passed over, in registration order, then the devices tried, in theirs; the last was
    // chosen.
    std::vector<Attempt> attempts{};
  };

  // Calls `open` with one candidate after the other until it succeeds. The errors are Open's.
  absl::StatusOr<Walk> WalkCandidates(const SelectionRequest& request,
                                      absl::FunctionRef<absl::Status(const Choice&)> open) const;

  // Makes the device of a choice and initializes it.
  static absl::StatusOr<std::unique_ptr<Device>> MakeInitialized(const Choice& choice);

  // Makes and initializes the first of the candidates for which that succeeds. Where none
  // satisfies, Select's error; where all fail, the first one's code and reason, with a message that
  // tells what each step came to.
  absl::StatusOr<OpenedDevice> Open(const SelectionRequest& request) const;

 private:
  // Every satisfying entry, best first.
  std::vector<const RegistryEntry*> Ranked(const SelectionRequest& request) const;
  absl::Status NoneSatisfies(const SelectionRequest& request) const;

  std::vector<RegistryEntry> entries_;
};

}  // namespace acceld
