#include <memory>
#include <utility>
#include <vector>

#include "backends/core/status.h"
#include "backends/null/null_device.h"
#include "backends/registry/registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/faulty_device.h"

namespace acceld {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// An available entry of `devices` devices that make null devices, of which those in `failing` fail
// to initialize with an out-of-memory error.
RegistryEntry Entry(BackendKind kind, int devices, std::vector<int> failing = {}) {
  RegistryEntry entry;
  entry.kind = kind;
  entry.available = true;
  for (int ordinal = 0; ordinal < devices; ++ordinal) {
    DeviceInfo device;
    device.kind = kind;
    device.ordinal = ordinal;
    entry.devices.push_back(device);
  }
  entry.factory = [failing](int ordinal) -> absl::StatusOr<std::unique_ptr<Device>> {
    auto device = std::make_unique<FaultyDevice>(
        std::make_unique<NullDevice>(NullDeviceOptions{.ordinal = ordinal}));
    for (int each : failing) {
      if (each == ordinal) device->FailInit(OutOfMemory("The card has no memory left."));
    }
    return device;
  };
  return entry;
}

std::vector<std::string> Texts(const std::vector<Attempt>& attempts) {
  std::vector<std::string> texts;
  for (const Attempt& attempt : attempts) texts.push_back(attempt.ToString());
  return texts;
}

TEST(RegistryOpen, OpensTheBestDevice) {
  Registry registry;
  registry.Register(Entry(BackendKind::kCpu, 1));
  registry.Register(Entry(BackendKind::kCuda, 2));
  const auto opened = registry.Open({});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->kind, BackendKind::kCuda);
  EXPECT_EQ(opened->ordinal, 0);
  EXPECT_EQ(opened->device->info().ordinal, 0);
  EXPECT_THAT(Texts(opened->attempts),
              ElementsAre("cuda device 0: chosen: It is the best that satisfies {anything}."));
}

TEST(RegistryOpen, OpensThePinnedDevice) {
  Registry registry;
  registry.Register(Entry(BackendKind::kCuda, 3));
  SelectionRequest request;
  request.device = 2;
  const auto opened = registry.Open(request);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->ordinal, 2);
  EXPECT_EQ(opened->device->info().ordinal, 2);
}

TEST(RegistryOpen, WalksTheFallbackChainAndReportsEachStep) {
  Registry registry = Registry::WithDefaults();
  registry.Register(Entry(BackendKind::kCuda, 1, {0}));
  registry.Register(Entry(BackendKind::kCpu, 1));
  const auto opened = registry.Open({});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->kind, BackendKind::kCpu);
  EXPECT_THAT(Texts(opened->attempts),
              ElementsAre("rocm: passed over: No rocm backend is part of this build.",
                          "metal: passed over: No metal backend is part of this build.",
                          "level_zero: passed over: No level_zero backend is part of this build.",
                          "vulkan: passed over: No vulkan backend is part of this build.",
                          "webgpu: passed over: No webgpu backend is part of this build.",
                          "cuda device 0: failed to initialize: The card has no memory left.",
                          "cpu device 0: chosen: It is the next best after those that failed."));
}

TEST(RegistryOpen, TriesTheNextDeviceOfTheSameKindFirst) {
  Registry registry;
  registry.Register(Entry(BackendKind::kCuda, 2, {0}));
  registry.Register(Entry(BackendKind::kCpu, 1));
  const auto opened = registry.Open({});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->kind, BackendKind::kCuda);
  EXPECT_EQ(opened->ordinal, 1);
}

TEST(RegistryOpen, APinnedDeviceThatFailsIsNotReplaced) {
  Registry registry;
  registry.Register(Entry(BackendKind::kCuda, 2, {1}));
  registry.Register(Entry(BackendKind::kCpu, 1));
  SelectionRequest request;
  request.kind = BackendKind::kCuda;
  request.device = 1;
  EXPECT_FALSE(registry.Open(request).ok());
}

TEST(RegistryOpen, WhereAllFailTheErrorIsTheFirstOneAndTellsOfAll) {
  Registry registry;
  RegistryEntry cpu = Entry(BackendKind::kCpu, 1);
  cpu.factory = [](int) -> absl::StatusOr<std::unique_ptr<Device>> {
    return DeviceError("The processor is on fire.");
  };
  registry.Register(Entry(BackendKind::kCuda, 1, {0}));
  registry.Register(cpu);
  const absl::Status status = registry.Open({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetReason(status), reason::kDeviceOutOfMemory);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("{anything}"),
            HasSubstr("[cuda device 0: failed to initialize: The card has no memory left.]"),
            HasSubstr("[cpu device 0: failed to initialize: The processor is on fire.]")));
}

TEST(RegistryOpen, WhereNoneSatisfiesTheErrorIsThatOfSelect) {
  const Registry registry = Registry::WithDefaults();
  SelectionRequest request;
  request.require_gpu = true;
  EXPECT_EQ(registry.Open(request).status(), registry.Select(request).status());
}

TEST(RegistryOpen, AnEntryWithoutAFactoryFailsToInitialize) {
  const absl::Status status = Registry::WithDefaults().Open({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has no factory for cpu devices"));
}

TEST(RegistryOpen, AFactoryThatMakesNothingIsADeviceError) {
  Registry registry;
  RegistryEntry cpu = Entry(BackendKind::kCpu, 1);
  cpu.factory = [](int) -> absl::StatusOr<std::unique_ptr<Device>> { return nullptr; };
  registry.Register(cpu);
  EXPECT_EQ(registry.Open({}).status().code(), absl::StatusCode::kInternal);
}

TEST(RegistryOpen, TriesOnlyDevicesThatSatisfyTheRequest) {
  Registry registry;
  RegistryEntry cuda = Entry(BackendKind::kCuda, 2);
  cuda.devices[1].capabilities.fp16 = true;
  registry.Register(cuda);
  SelectionRequest request;
  request.require_fp16 = true;
  const auto opened = registry.Open(request);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->ordinal, 1);
}

TEST(RegistryCandidates, AreTheSatisfyingDevicesInTheOrderOfTheChain) {
  Registry registry;
  registry.Register(Entry(BackendKind::kCpu, 1));
  registry.Register(Entry(BackendKind::kCuda, 2));
  std::vector<std::pair<BackendKind, int>> order;
  for (const Registry::Choice& choice : registry.Candidates({})) {
    order.emplace_back(choice.entry->kind, choice.ordinal);
  }
  EXPECT_THAT(order, ElementsAre(std::pair(BackendKind::kCuda, 0), std::pair(BackendKind::kCuda, 1),
                                 std::pair(BackendKind::kCpu, 0)));
}

}  // namespace
}  // namespace acceld
