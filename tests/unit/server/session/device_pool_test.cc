#include "server/session/device_pool.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/faulty_device.h"
#include "tests/unit/backends/context/host_device.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

using ::testing::HasSubstr;

const absl::Status kFault = DeviceError("The device is on fire.");
const absl::Status kLoss = DeviceError("The device was lost.", reason::kDeviceLost);

// Counts those that have ended.
class MortalDevice final : public HostDevice {
 public:
  explicit MortalDevice(int& ended) : ended_(ended) {}
  ~MortalDevice() override { ++ended_; }

 private:
  int& ended_;
};

class DevicePoolTest : public ::testing::Test {
 protected:
  // A pool of a CPU, and of CUDA devices of which the first one's Init returns `cuda_init`.
  std::unique_ptr<DevicePool> Make(const absl::Status& cuda_init,
                                   std::optional<BackendKind> preferred = std::nullopt) {
    Registry registry;
    registry.Register(Entry(BackendKind::kCpu, absl::OkStatus()));
    registry.Register(Entry(BackendKind::kCuda, cuda_init, cuda_devices_));
    return std::make_unique<DevicePool>(
        std::move(registry),
        DevicePoolOptions{.preferred = preferred,
                          .check = [this](Device& device) { return Check(device); },
                          .on_lost = [this](const DeviceLoss& loss) { losses_.push_back(loss); }});
  }

  RegistryEntry Entry(BackendKind kind, const absl::Status& init, int devices = 1) {
    RegistryEntry entry{.kind = kind, .available = true};
    for (int i = 0; i < devices; ++i) entry.devices.push_back({.kind = kind, .ordinal = i});
    entry.factory = [this, kind, init](int ordinal) -> absl::StatusOr<std::unique_ptr<Device>> {
      ++made_[kind];
      auto device = std::make_unique<FaultyDevice>(std::make_unique<MortalDevice>(ended_));
      if (!init.ok() && ordinal == 0) device->FailInit(init);
      device->LoseOn("memset", kLoss);
      kinds_[device.get()] = kind;
      return device;
    };
    return entry;
  }

  absl::Status Check(Device& device) {
    return kinds_[&device] == BackendKind::kCuda ? cuda_check_ : absl::OkStatus();
  }

  int cuda_devices_ = 1;
  int ended_ = 0;
  std::map<BackendKind, int> made_;
  std::map<Device*, BackendKind> kinds_;
  absl::Status cuda_check_;
  std::vector<DeviceLoss> losses_;
};

TEST_F(DevicePoolTest, MakesADeviceWhenItIsWantedAndKeepsIt) {
  const auto pool = Make(absl::OkStatus());
  EXPECT_EQ(made_.size(), 0u);
  const DevicePool::Choice first = *pool->Choose({});
  const DevicePool::Choice second = *pool->Choose({});
  EXPECT_EQ(first.device, second.device);
  EXPECT_EQ(first.scheduler, second.scheduler);
  EXPECT_EQ(made_[BackendKind::kCuda], 1);
  EXPECT_EQ(made_[BackendKind::kCpu], 0);
}

TEST_F(DevicePoolTest, FallsBackWhereADeviceFailsToInitializeAndSaysWhy) {
  const auto pool = Make(kFault);
  const DevicePool::Choice choice = *pool->Choose({});
  EXPECT_THAT(choice.explanation, HasSubstr("The device is on fire."));
  EXPECT_EQ(pool->Choose({})->device, choice.device);
  EXPECT_EQ(made_[BackendKind::kCuda], 1);
  EXPECT_EQ(made_[BackendKind::kCpu], 1);
}

TEST_F(DevicePoolTest, APinnedKindThatFailsIsAnError) {
  const auto pool = Make(kFault);
  EXPECT_THAT(pool->Choose({.kind = BackendKind::kCuda}).status(),
              IsStatus(absl::StatusCode::kInternal, "The device is on fire."));
}

TEST_F(DevicePoolTest, ADeviceThatDoesNotPassItsCheckIsNotUsed) {
  const auto pool = Make(absl::OkStatus());
  cuda_check_ = kFault;
  const DevicePool::Choice choice = *pool->Choose({});
  EXPECT_EQ(kinds_[choice.device], BackendKind::kCpu);
  EXPECT_THAT(choice.explanation, HasSubstr("The device is on fire."));
  EXPECT_THAT(pool->Choose({.kind = BackendKind::kCuda}).status(),
              IsStatus(absl::StatusCode::kInternal, "The device is on fire."));
}

TEST_F(DevicePoolTest, ABackendWhoseDevicesFailedIsNotAvailableAndSaysWhy) {
  const auto pool = Make(kFault);
  EXPECT_TRUE(pool->Backends()[1].available);
  (void)pool->Choose({});
  const auto backends = pool->Backends();
  ASSERT_EQ(backends.size(), 2u);
  EXPECT_TRUE(backends[0].available);
  EXPECT_EQ(backends[0].reason, "");
  EXPECT_EQ(backends[1].kind, BackendKind::kCuda);
  EXPECT_FALSE(backends[1].available);
  EXPECT_EQ(backends[1].reason, "device 0: The device is on fire.");
  const auto devices = pool->Devices();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].info.kind, BackendKind::kCpu);
}

TEST_F(DevicePoolTest, ABackendOfWhichOneDeviceFailedIsAvailableAndSaysWhichIsNot) {
  cuda_devices_ = 2;
  const auto pool = Make(kFault);
  EXPECT_EQ(kinds_[pool->Choose({})->device], BackendKind::kCuda);
  const auto backends = pool->Backends();
  EXPECT_TRUE(backends[1].available);
  EXPECT_EQ(backends[1].reason, "device 0: The device is on fire.");
  const auto devices = pool->Devices();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[1].info.ordinal, 1);
}

TEST_F(DevicePoolTest, ADeviceThatIsLostInItsCheckIsNotDestroyed) {
  for (const absl::Status& fault : {kFault, kLoss}) {
    cuda_check_ = fault;
    (void)Make(absl::OkStatus())->Choose({});
  }
  // The two CPUs, and the one that is not lost.
  EXPECT_EQ(ended_, 3);
}

TEST_F(DevicePoolTest, TellsOfALossOnce) {
  const auto pool = Make(absl::OkStatus());
  const DevicePool::Choice choice = *pool->Choose({.kind = BackendKind::kCuda});
  const DeviceQueue queue = *choice.device->CreateQueue(0);
  for (int i = 0; i < 2; ++i) {
    const Work work = Op(ops::Memset{});
    choice.device->Submit(queue, work,
                          [](const WorkResult& result) { EXPECT_EQ(result.status, kLoss); });
  }
  ASSERT_EQ(losses_.size(), 1u);
  EXPECT_EQ(losses_[0].kind, BackendKind::kCuda);
  EXPECT_EQ(losses_[0].ordinal, 0);
  EXPECT_EQ(losses_[0].error, kLoss);
}

TEST_F(DevicePoolTest, ThePreferredKindIsForThoseWhoNameNone) {
  const auto pool = Make(absl::OkStatus(), BackendKind::kCpu);
  (void)pool->Choose({});
  EXPECT_EQ(made_[BackendKind::kCuda], 0);
  (void)pool->Choose({.kind = BackendKind::kCuda});
  EXPECT_EQ(made_[BackendKind::kCuda], 1);
}

TEST_F(DevicePoolTest, DescribesDevicesWithTheirFreeMemoryOnceTheyAreMade) {
  const auto pool = Make(absl::OkStatus());
  const DevicePool::Choice choice = *pool->Choose({.kind = BackendKind::kCpu});
  std::byte* const data = *choice.device->Allocate(256, {});
  const auto devices = pool->Devices();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].info.free_memory_bytes, choice.device->memory().free_bytes);
  EXPECT_TRUE(devices[0].supported_ops.all());
  EXPECT_TRUE(devices[1].supported_ops.none());
  EXPECT_EQ(devices[1].info.free_memory_bytes, std::nullopt);
  choice.device->Release(data, 256);
}

}  // namespace
}  // namespace acceld
