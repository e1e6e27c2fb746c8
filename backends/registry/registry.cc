#include "backends/registry/registry.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "backends/core/status.h"
#include "backends/registry/matching.h"
#include "fmt/format.h"

namespace acceld {
namespace {

std::string_view Name(Attempt::Outcome outcome) {
  switch (outcome) {
    case Attempt::Outcome::kPassedOver:
      return "passed over";
    case Attempt::Outcome::kFailed:
      return "failed to initialize";
    case Attempt::Outcome::kChosen:
      return "chosen";
  }
  return "invalid";
}

std::string Describe(const std::vector<Attempt>& attempts) {
  std::string text;
  for (const Attempt& attempt : attempts) text += fmt::format(" [{}]", attempt.ToString());
  return text;
}

}  // namespace

std::string Attempt::ToString() const {
  if (!ordinal.has_value()) {
    return fmt::format("{}: {}: {}", acceld::Name(kind), Name(outcome), reason);
  }
  return fmt::format("{} device {}: {}: {}", acceld::Name(kind), *ordinal, Name(outcome), reason);
}

Registry Registry::WithDefaults() {
  Registry registry;
  for (const auto& [kind, name, aliases] : EnumTable<BackendKind>::kEntries) {
    RegistryEntry entry{.kind = kind};
    if (IsGpu(kind)) {
      entry.reason = fmt::format("No {} backend is part of this build.", name);
    } else {
      entry.available = true;
    }
    registry.Register(std::move(entry));
  }
  return registry;
}

void Registry::Register(RegistryEntry entry) {
  if (entry.available) {
    entry.reason.clear();
  } else if (entry.reason.empty()) {
    entry.reason = entry.probe ? "It has not been probed." : "It is registered as not available.";
  }
  if (!entry.devices.empty()) entry.capabilities = entry.devices.front().capabilities;
  const auto same_kind = [&](const RegistryEntry& other) { return other.kind == entry.kind; };
  const auto found = std::find_if(entries_.begin(), entries_.end(), same_kind);
  if (found != entries_.end()) {
    *found = std::move(entry);
  } else {
    entries_.push_back(std::move(entry));
  }
}

void Registry::ProbeAll() {
  for (RegistryEntry& entry : entries_) {
    if (!entry.probe) continue;
    ProbeResult result = entry.probe();
    entry.available = result.status.ok() && !result.devices.empty();
    entry.reason.clear();
    if (entry.available) {
      entry.devices = std::move(result.devices);
      entry.capabilities = entry.devices.front().capabilities;
      continue;
    }
    entry.devices.clear();
    entry.capabilities = {};
    if (!result.status.ok()) entry.reason = std::string(result.status.message());
    if (entry.reason.empty()) {
      entry.reason = fmt::format("The {} driver reports no device.", acceld::Name(entry.kind));
    }
  }
}

const RegistryEntry* Registry::Find(BackendKind kind) const {
  for (const RegistryEntry& entry : entries_) {
    if (entry.kind == kind) return &entry;
  }
  return nullptr;
}

std::vector<const RegistryEntry*> Registry::Ranked(const SelectionRequest& request) const {
  std::vector<const RegistryEntry*> ranked;
  for (const RegistryEntry& entry : entries_) {
    if (!internal::SatisfyingOrdinals(entry, request).empty()) ranked.push_back(&entry);
  }
  const auto rank = [](const RegistryEntry* entry) {
    return std::tuple(entry->EffectivePriority(), DefaultPriority(entry->kind));
  };
  std::stable_sort(
      ranked.begin(), ranked.end(),
      [&](const RegistryEntry* a, const RegistryEntry* b) { return rank(a) > rank(b); });
  return ranked;
}

absl::StatusOr<const RegistryEntry*> Registry::Select(const SelectionRequest& request) const {
  const std::vector<const RegistryEntry*> ranked = Ranked(request);
  if (ranked.empty()) return NoneSatisfies(request);
  return ranked.front();
}

std::vector<const RegistryEntry*> Registry::FallbackChain(const SelectionRequest& request) const {
  std::vector<const RegistryEntry*> chain = Ranked(request);
  std::stable_partition(chain.begin(), chain.end(),
                        [](const RegistryEntry* entry) { return IsGpu(entry->kind); });
  return chain;
}

std::vector<Registry::Choice> Registry::Candidates(const SelectionRequest& request) const {
  std::vector<Choice> candidates;
  for (const RegistryEntry* entry : FallbackChain(request)) {
    for (int ordinal : internal::SatisfyingOrdinals(*entry, request)) {
      candidates.push_back({.entry = entry, .ordinal = ordinal});
    }
  }
  return candidates;
}

absl::StatusOr<const RegistryEntry*> Registry::Route(OpClass op_class) const {
  switch (op_class) {
    case OpClass::kMatmul:
    case OpClass::kConvolution:
    case OpClass::kAttention: {
      const auto ranked = Ranked({.require_tensor_cores = true});
      if (!ranked.empty()) return ranked.front();
      return Select({});
    }
    case OpClass::kReduction:
    case OpClass::kElementwise:
    case OpClass::kMemory:
      return Select({});
  }
  return InvalidArgument(fmt::format("The op class {} is none of {} to {}.",
                                     static_cast<int>(op_class), static_cast<int>(OpClass::kMatmul),
                                     static_cast<int>(OpClass::kMemory)));
}

absl::StatusOr<std::unique_ptr<Device>> Registry::MakeInitialized(const Choice& choice) {
  const std::string_view kind = acceld::Name(choice.entry->kind);
  if (!choice.entry->factory) {
    return UnsupportedError(fmt::format("The registry has no factory for {} devices.", kind));
  }
  absl::StatusOr<std::unique_ptr<Device>> device = choice.entry->factory(choice.ordinal);
  if (!device.ok()) return device;
  if (*device == nullptr) {
    return DeviceError(fmt::format("The factory of {} made no device {}.", kind, choice.ordinal));
  }
  ACCELD_RETURN_IF_ERROR((*device)->Init());
  return device;
}

absl::StatusOr<Registry::Walk> Registry::WalkCandidates(
    const SelectionRequest& request, absl::FunctionRef<absl::Status(const Choice&)> open) const {
  const std::vector<Choice> candidates = Candidates(request);
  if (candidates.empty()) return NoneSatisfies(request);
  std::vector<Attempt> attempts;
  for (const RegistryEntry& entry : entries_) {
    if (!internal::SatisfyingOrdinals(entry, request).empty()) continue;
    attempts.push_back({.kind = entry.kind,
                        .outcome = Attempt::Outcome::kPassedOver,
                        .reason = internal::WhyPassedOver(entry, request)});
  }
  absl::Status first_failure;
  for (const Choice& choice : candidates) {
    Attempt attempt{.kind = choice.entry->kind, .ordinal = choice.ordinal};
    const absl::Status opened = open(choice);
    if (opened.ok()) {
      attempt.outcome = Attempt::Outcome::kChosen;
      attempt.reason = first_failure.ok()
                           ? fmt::format("It is the best that satisfies {}.", request.ToString())
                           : "It is the next best after those that failed.";
      attempts.push_back(std::move(attempt));
      return Walk{.chosen = choice, .attempts = std::move(attempts)};
    }
    attempt.outcome = Attempt::Outcome::kFailed;
    attempt.reason = std::string(opened.message());
    attempts.push_back(std::move(attempt));
    if (first_failure.ok()) first_failure = opened;
  }
  return WithReason(absl::Status(first_failure.code(),
                                 fmt::format("No device that satisfies {} could be initialized:{}",
                                             request.ToString(), Describe(attempts))),
                    GetReason(first_failure));
}

absl::StatusOr<OpenedDevice> Registry::Open(const SelectionRequest& request) const {
  std::unique_ptr<Device> device;
  const auto open = [&](const Choice& choice) -> absl::Status {
    ACCELD_ASSIGN_OR_RETURN(device, MakeInitialized(choice));
    return absl::OkStatus();
  };
  ACCELD_ASSIGN_OR_RETURN(Walk walk, WalkCandidates(request, open));
  return OpenedDevice{.device = std::move(device),
                      .kind = walk.chosen.entry->kind,
                      .ordinal = walk.chosen.ordinal,
                      .attempts = std::move(walk.attempts)};
}

absl::Status Registry::NoneSatisfies(const SelectionRequest& request) const {
  std::string message = fmt::format("No backend satisfies the request {}:", request.ToString());
  if (entries_.empty()) message += " none is registered.";
  for (const RegistryEntry& entry : entries_) {
    message +=
        fmt::format(" [{}: {}]", acceld::Name(entry.kind), internal::WhyPassedOver(entry, request));
  }
  return UnsupportedError(message);
}

}  // namespace acceld
