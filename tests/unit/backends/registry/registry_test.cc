#include "backends/registry/registry.h"

#include <memory>
#include <utility>

#include "backends/core/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

RegistryEntry Available(BackendKind kind, const Capabilities& capabilities = {}) {
  RegistryEntry entry;
  entry.kind = kind;
  entry.available = true;
  entry.capabilities = capabilities;
  return entry;
}

DeviceInfo DeviceOf(BackendKind kind, int ordinal, std::string uuid,
                    const Capabilities& capabilities = {}) {
  DeviceInfo device;
  device.kind = kind;
  device.ordinal = ordinal;
  device.uuid = std::move(uuid);
  device.capabilities = capabilities;
  return device;
}

Capabilities With(bool Capabilities::*capability) {
  Capabilities capabilities;
  capabilities.*capability = true;
  return capabilities;
}

SelectionRequest Requiring(bool SelectionRequest::*requirement) {
  SelectionRequest request;
  request.*requirement = true;
  return request;
}

SelectionRequest ForDevice(DeviceSelector device) {
  SelectionRequest request;
  request.device = std::move(device);
  return request;
}

SelectionRequest ForKind(BackendKind kind) {
  SelectionRequest request;
  request.kind = kind;
  return request;
}

std::vector<BackendKind> Kinds(const std::vector<const RegistryEntry*>& entries) {
  std::vector<BackendKind> kinds;
  for (const RegistryEntry* entry : entries) kinds.push_back(entry->kind);
  return kinds;
}

// The kind that was selected; fails the test where none was.
BackendKind KindOf(const absl::StatusOr<const RegistryEntry*>& entry) {
  EXPECT_TRUE(entry.ok()) << entry.status();
  return entry.ok() ? (*entry)->kind : BackendKind{};
}

TEST(RegistryDefaults, HaveOneEntryForEachKindAndOnlyTheCpuIsAvailable) {
  const Registry registry = Registry::WithDefaults();
  ASSERT_EQ(registry.entries().size(), 7u);
  for (const auto& [kind, name, aliases] : EnumTable<BackendKind>::kEntries) {
    const RegistryEntry* entry = registry.Find(kind);
    ASSERT_NE(entry, nullptr) << name;
    EXPECT_EQ(entry->available, kind == BackendKind::kCpu) << name;
    EXPECT_EQ(entry->reason.empty(), entry->available) << name;
    EXPECT_EQ(entry->EffectivePriority(), DefaultPriority(kind)) << name;
  }
}

TEST(RegistryDefaults, SayThatABackendIsNotPartOfTheBuild) {
  const Registry registry = Registry::WithDefaults();
  EXPECT_EQ(registry.Find(BackendKind::kCuda)->reason, "No cuda backend is part of this build.");
}

TEST(RegistryDefaults, SelectTheCpu) {
  EXPECT_EQ(KindOf(Registry::WithDefaults().Select({})), BackendKind::kCpu);
}

TEST(RegistryRegister, ReplacesTheEntryOfTheSameKindInItsPlace) {
  Registry registry = Registry::WithDefaults();
  registry.Register(Available(BackendKind::kRocm));
  ASSERT_EQ(registry.entries().size(), 7u);
  EXPECT_EQ(registry.entries()[1].kind, BackendKind::kRocm);
  EXPECT_TRUE(registry.entries()[1].available);
  EXPECT_EQ(registry.entries()[1].reason, "");
}

TEST(RegistryRegister, GivesAnUnavailableEntryAReason) {
  Registry registry;
  registry.Register({});
  EXPECT_THAT(registry.entries()[0].reason, Not(IsEmpty()));
}

TEST(RegistryFind, IsNullForAKindThatIsNotThere) {
  EXPECT_EQ(Registry().Find(BackendKind::kCpu), nullptr);
}

TEST(RegistrySelect, PrefersTheHigherDefaultPriority) {
  Registry registry;
  registry.Register(Available(BackendKind::kCpu));
  registry.Register(Available(BackendKind::kVulkan));
  registry.Register(Available(BackendKind::kCuda));
  EXPECT_EQ(KindOf(registry.Select({})), BackendKind::kCuda);
}

TEST(RegistrySelect, PrefersAPriorityThatWasSet) {
  Registry registry;
  RegistryEntry vulkan = Available(BackendKind::kVulkan);
  vulkan.priority = 101;
  registry.Register(Available(BackendKind::kCuda));
  registry.Register(vulkan);
  EXPECT_EQ(KindOf(registry.Select({})), BackendKind::kVulkan);
}

TEST(RegistrySelect, BreaksTiesByTheDefaultPriorityOfTheKind) {
  Registry registry;
  for (BackendKind kind : {BackendKind::kWebGpu, BackendKind::kMetal, BackendKind::kVulkan}) {
    RegistryEntry entry = Available(kind);
    entry.priority = 7;
    registry.Register(entry);
  }
  EXPECT_EQ(KindOf(registry.Select({})), BackendKind::kMetal);
}

TEST(RegistrySelect, HonorsAPriorityOfZeroOrLess) {
  Registry registry;
  RegistryEntry cuda = Available(BackendKind::kCuda);
  cuda.priority = -1;
  registry.Register(cuda);
  registry.Register(Available(BackendKind::kCpu));
  EXPECT_EQ(KindOf(registry.Select({})), BackendKind::kCpu);
}

TEST(RegistrySelect, PassesOverWhatIsNotAvailable) {
  Registry registry = Registry::WithDefaults();
  registry.Register(Available(BackendKind::kWebGpu));
  EXPECT_EQ(KindOf(registry.Select({})), BackendKind::kWebGpu);
}

struct Requirement {
  std::string_view name;
  bool SelectionRequest::*required;
  bool Capabilities::*offered;
};

class RegistryRequirement : public ::testing::TestWithParam<Requirement> {};

TEST_P(RegistryRequirement, SelectsTheEntryThatOffersIt) {
  Capabilities without;
  without.unified_memory = false;
  Capabilities with = without;
  with.*GetParam().offered = true;
  Registry registry;
  registry.Register(Available(BackendKind::kCuda, without));
  registry.Register(Available(BackendKind::kVulkan, with));
  EXPECT_EQ(KindOf(registry.Select({})), BackendKind::kCuda);
  EXPECT_EQ(KindOf(registry.Select(Requiring(GetParam().required))), BackendKind::kVulkan);
}

INSTANTIATE_TEST_SUITE_P(
    All, RegistryRequirement,
    ::testing::Values(Requirement{"fp16", &SelectionRequest::require_fp16, &Capabilities::fp16},
                      Requirement{"bf16", &SelectionRequest::require_bf16, &Capabilities::bf16},
                      Requirement{"fp8", &SelectionRequest::require_fp8, &Capabilities::fp8},
                      Requirement{"tensor_cores", &SelectionRequest::require_tensor_cores,
                                  &Capabilities::tensor_cores},
                      Requirement{"unified_memory", &SelectionRequest::require_unified_memory,
                                  &Capabilities::unified_memory},
                      Requirement{"peer_access", &SelectionRequest::require_peer_access,
                                  &Capabilities::peer_access}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(RegistrySelect, AGpuIsAnythingButTheCpu) {
  Registry registry;
  RegistryEntry cpu = Available(BackendKind::kCpu);
  cpu.priority = 1000;
  registry.Register(cpu);
  registry.Register(Available(BackendKind::kWebGpu));
  EXPECT_EQ(KindOf(registry.Select({})), BackendKind::kCpu);
  EXPECT_EQ(KindOf(registry.Select(Requiring(&SelectionRequest::require_gpu))),
            BackendKind::kWebGpu);
}

TEST(RegistrySelect, APinnedKindIsNeverReplacedByAnother) {
  const Registry registry = Registry::WithDefaults();
  EXPECT_EQ(KindOf(registry.Select(ForKind(BackendKind::kCpu))), BackendKind::kCpu);
  EXPECT_EQ(registry.Select(ForKind(BackendKind::kCuda)).status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_THAT(registry.FallbackChain(ForKind(BackendKind::kCuda)), IsEmpty());
}

TEST(RegistrySelect, AKindThatIsNoneIsUnsupported) {
  EXPECT_EQ(Registry::WithDefaults().Select(ForKind(BackendKind{99})).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST(RegistrySelect, FindsADeviceByItsUuid) {
  Registry registry;
  RegistryEntry cuda = Available(BackendKind::kCuda);
  cuda.devices = {DeviceOf(BackendKind::kCuda, 0, "GPU-a"),
                  DeviceOf(BackendKind::kCuda, 1, "GPU-b")};
  RegistryEntry cpu = Available(BackendKind::kCpu);
  cpu.devices = {DeviceOf(BackendKind::kCpu, 0, "cpu-0")};
  registry.Register(cuda);
  registry.Register(cpu);
  EXPECT_EQ(KindOf(registry.Select(ForDevice("GPU-b"))), BackendKind::kCuda);
  EXPECT_EQ(KindOf(registry.Select(ForDevice("cpu-0"))), BackendKind::kCpu);
  EXPECT_FALSE(registry.Select(ForDevice("GPU-c")).ok());
}

TEST(RegistrySelect, AnEmptyUuidNamesNoDevice) {
  EXPECT_FALSE(Registry::WithDefaults().Select(ForDevice("")).ok());
}

TEST(RegistrySelect, FindsADeviceByItsOrdinal) {
  Registry registry;
  RegistryEntry vulkan = Available(BackendKind::kVulkan);
  vulkan.devices = {DeviceOf(BackendKind::kVulkan, 0, "a"), DeviceOf(BackendKind::kVulkan, 1, "b")};
  registry.Register(Available(BackendKind::kCuda));
  registry.Register(vulkan);
  EXPECT_EQ(KindOf(registry.Select(ForDevice(0))), BackendKind::kCuda);
  EXPECT_EQ(KindOf(registry.Select(ForDevice(1))), BackendKind::kVulkan);
  EXPECT_FALSE(registry.Select(ForDevice(2)).ok());
  EXPECT_FALSE(registry.Select(ForDevice(-1)).ok());
}

TEST(RegistrySelect, WantsAllRequirementsOfOneDevice) {
  Registry registry;
  RegistryEntry cuda = Available(BackendKind::kCuda);
  cuda.devices = {DeviceOf(BackendKind::kCuda, 0, "a", With(&Capabilities::fp16)),
                  DeviceOf(BackendKind::kCuda, 1, "b", With(&Capabilities::peer_access))};
  registry.Register(cuda);
  SelectionRequest request = Requiring(&SelectionRequest::require_fp16);
  EXPECT_TRUE(registry.Select(request).ok());
  request.require_peer_access = true;
  EXPECT_FALSE(registry.Select(request).ok());
}

TEST(RegistrySelect, ChecksTheCapabilitiesOfThePinnedDevice) {
  Registry registry;
  RegistryEntry cuda = Available(BackendKind::kCuda);
  cuda.devices = {DeviceOf(BackendKind::kCuda, 0, "a"),
                  DeviceOf(BackendKind::kCuda, 1, "b", With(&Capabilities::fp8))};
  registry.Register(cuda);
  SelectionRequest request = Requiring(&SelectionRequest::require_fp8);
  request.device = 0;
  EXPECT_THAT(registry.Select(request).status().message(), HasSubstr("Device 0 lacks fp8."));
  request.device = 1;
  EXPECT_TRUE(registry.Select(request).ok());
}

TEST(RegistrySelect, TheErrorPrintsTheRequestAndWhyEachEntryWasPassedOver) {
  Registry registry = Registry::WithDefaults();
  registry.Register(Available(BackendKind::kVulkan));
  SelectionRequest request = Requiring(&SelectionRequest::require_gpu);
  request.require_fp8 = true;
  const absl::Status status = registry.Select(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(GetReason(status), reason::kUnsupported);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("{require_gpu, require_fp8}"),
            HasSubstr("[cuda: No cuda backend is part of this build.]"),
            HasSubstr("[rocm: No rocm"), HasSubstr("[metal: No metal"),
            HasSubstr("[level_zero: No level_zero"), HasSubstr("[vulkan: Device 0 lacks fp8.]"),
            HasSubstr("[webgpu: No webgpu"), HasSubstr("[cpu: It is not a GPU.]")));
}

TEST(RegistrySelect, OfAnEmptyRegistryIsUnsupported) {
  EXPECT_EQ(Registry().Select({}).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(RegistryFallbackChain, IsEverySatisfyingEntryBestFirst) {
  Registry registry = Registry::WithDefaults();
  registry.Register(Available(BackendKind::kWebGpu));
  registry.Register(Available(BackendKind::kCuda));
  EXPECT_THAT(Kinds(registry.FallbackChain({})),
              ElementsAre(BackendKind::kCuda, BackendKind::kWebGpu, BackendKind::kCpu));
}

TEST(RegistryFallbackChain, EndsWithTheCpuWhateverItsPriority) {
  Registry registry;
  RegistryEntry cpu = Available(BackendKind::kCpu);
  cpu.priority = 1000;
  registry.Register(cpu);
  registry.Register(Available(BackendKind::kVulkan));
  registry.Register(Available(BackendKind::kCuda));
  EXPECT_THAT(Kinds(registry.FallbackChain({})),
              ElementsAre(BackendKind::kCuda, BackendKind::kVulkan, BackendKind::kCpu));
}

TEST(RegistryFallbackChain, LeavesOutACpuThatDoesNotSatisfy) {
  Registry registry = Registry::WithDefaults();
  registry.Register(Available(BackendKind::kCuda));
  EXPECT_THAT(Kinds(registry.FallbackChain(Requiring(&SelectionRequest::require_gpu))),
              ElementsAre(BackendKind::kCuda));
}

TEST(RegistryRoute, MatmulConvolutionAndAttentionLookForTensorCoresFirst) {
  Registry registry = Registry::WithDefaults();
  registry.Register(Available(BackendKind::kCuda));
  registry.Register(Available(BackendKind::kVulkan, With(&Capabilities::tensor_cores)));
  for (OpClass op_class : {OpClass::kMatmul, OpClass::kConvolution, OpClass::kAttention}) {
    EXPECT_EQ(KindOf(registry.Route(op_class)), BackendKind::kVulkan) << Name(op_class);
  }
  for (OpClass op_class : {OpClass::kReduction, OpClass::kElementwise, OpClass::kMemory}) {
    EXPECT_EQ(KindOf(registry.Route(op_class)), BackendKind::kCuda) << Name(op_class);
  }
}

TEST(RegistryRoute, TakesTheBestAvailableWithoutTensorCores) {
  const Registry registry = Registry::WithDefaults();
  for (const auto& [op_class, name, aliases] : EnumTable<OpClass>::kEntries) {
    EXPECT_EQ(KindOf(registry.Route(op_class)), BackendKind::kCpu) << name;
  }
}

TEST(RegistryRoute, AnInvalidClassIsAnInvalidArgument) {
  EXPECT_EQ(Registry::WithDefaults().Route(OpClass{0}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(RegistryProbe, ADeviceMakesItsEntryAvailable) {
  Registry registry = Registry::WithDefaults();
  RegistryEntry cuda;
  cuda.kind = BackendKind::kCuda;
  cuda.probe = [] {
    return ProbeResult{
        .status = absl::OkStatus(),
        .devices = {DeviceOf(BackendKind::kCuda, 0, "GPU-a", With(&Capabilities::tensor_cores))}};
  };
  registry.Register(cuda);
  EXPECT_FALSE(registry.Find(BackendKind::kCuda)->available);
  registry.ProbeAll();
  const RegistryEntry* entry = registry.Find(BackendKind::kCuda);
  EXPECT_TRUE(entry->available);
  EXPECT_EQ(entry->reason, "");
  EXPECT_EQ(entry->devices.size(), 1u);
  EXPECT_TRUE(entry->capabilities.tensor_cores);
  EXPECT_EQ(KindOf(registry.Select({})), BackendKind::kCuda);
}

TEST(RegistryProbe, AFailureIsKeptAsTheReasonAndShown) {
  Registry registry = Registry::WithDefaults();
  RegistryEntry cuda = Available(BackendKind::kCuda);
  cuda.devices = {DeviceOf(BackendKind::kCuda, 0, "GPU-a")};
  cuda.probe = [] {
    return ProbeResult{
        .status = DeviceError("The cuda driver did not load: libcuda.so.1 is not there."),
        .devices = {}};
  };
  registry.Register(cuda);
  registry.ProbeAll();
  const RegistryEntry* entry = registry.Find(BackendKind::kCuda);
  EXPECT_FALSE(entry->available);
  EXPECT_THAT(entry->devices, IsEmpty());
  EXPECT_EQ(entry->reason, "The cuda driver did not load: libcuda.so.1 is not there.");
  EXPECT_THAT(registry.Select(ForKind(BackendKind::kCuda)).status().message(),
              HasSubstr("libcuda.so.1 is not there."));
}

TEST(RegistryProbe, ADriverWithoutADeviceIsNotAvailable) {
  Registry registry;
  RegistryEntry cuda = Available(BackendKind::kCuda);
  cuda.probe = [] { return ProbeResult{}; };
  registry.Register(cuda);
  registry.ProbeAll();
  EXPECT_FALSE(registry.entries()[0].available);
  EXPECT_EQ(registry.entries()[0].reason, "The cuda driver reports no device.");
}

TEST(RegistryProbe, LeavesEntriesWithoutAProbeAsTheyAre) {
  Registry registry = Registry::WithDefaults();
  registry.ProbeAll();
  EXPECT_TRUE(registry.Find(BackendKind::kCpu)->available);
  EXPECT_THAT(registry.Find(BackendKind::kCuda)->reason, HasSubstr("part of this build"));
}

}  // namespace
}  // namespace acceld
