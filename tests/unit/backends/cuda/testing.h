// What the tests of the cuda device share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/core/waiter.h"
#include "backends/cuda/cuda_device.h"
#include "backends/device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/cuda/fake_cuda_driver.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {

inline const cuda::DriverStatus kDriverFailure{
    .code = cuda::DriverCode::kFailed, .call = "cudaCall", .detail = "cudaErrorUnknown (odd)"};
inline const cuda::DriverStatus kDriverOutOfMemory{
    .code = cuda::DriverCode::kOutOfMemory, .call = "cudaCall", .detail = "cudaErrorMemory (full)"};
inline const cuda::DriverStatus kDriverLost{.code = cuda::DriverCode::kDeviceLost,
                                            .call = "cudaCall",
                                            .detail = "cudaErrorIllegalAddress (bad)"};

inline std::unique_ptr<FakeCudaDriver> MakeFakeCudaDriver(
    std::uint64_t memory_bytes = std::uint64_t{64} << 20) {
  return std::make_unique<FakeCudaDriver>(
      FakeCudaOptions{.memory_bytes = memory_bytes,
                      .on_misuse = [](const std::string& what) { ADD_FAILURE() << what; }});
}

// Work that was submitted.
class Submitted {
 public:
  // The work stays until it is done.
  Submitted(Device& device, DeviceQueue queue, Work work)
      : work_(std::make_shared<const Work>(std::move(work))) {
    device.Submit(queue, *work_,
                  [waiter = waiter_, work = work_](const WorkResult& result) { waiter(result); });
  }

  WorkResult Wait() const { return waiter_.Wait(); }
  absl::Status Status() const { return Wait().status; }

 private:
  std::shared_ptr<const Work> work_;
  Waiter<WorkResult> waiter_;
};

// A cuda device on a fake card, initialized, with a queue.
class CudaDeviceTest : public testing::Test {
 protected:
  explicit CudaDeviceTest(std::uint64_t memory_bytes = std::uint64_t{64} << 20,
                          const cuda::CudaOptions& options = {}) {
    std::unique_ptr<FakeCudaDriver> driver = MakeFakeCudaDriver(memory_bytes);
    card_ = driver.get();
    device_ = cuda::MakeCudaDevice(std::move(driver), options);
    EXPECT_THAT(device_->Init(), IsOk());
    queue_ = NewQueue();
  }

  DeviceQueue NewQueue(int priority = 0) { return device_->CreateQueue(priority).value(); }

  std::byte* Allocate(std::uint64_t bytes) { return device_->Allocate(bytes, {}).value(); }

  Submitted Fill(std::byte* target, std::uint8_t value, std::uint64_t bytes) {
    return Fill(queue_, target, value, bytes);
  }
  Submitted Fill(DeviceQueue queue, std::byte* target, std::uint8_t value, std::uint64_t bytes) {
    return Submitted(
        *device_, queue,
        Op(ops::Memset{
            .target = reinterpret_cast<Address>(target), .value = value, .bytes = bytes}));
  }

  Submitted Write(std::byte* target, const std::vector<std::uint8_t>& source) {
    return Submitted(*device_, queue_,
                     HostToDevice{.target = target,
                                  .source = reinterpret_cast<const std::byte*>(source.data()),
                                  .bytes = source.size()});
  }
  Submitted Read(std::vector<std::uint8_t>& target, const std::byte* source) {
    return Read(queue_, target, source);
  }
  Submitted Read(DeviceQueue queue, std::vector<std::uint8_t>& target, const std::byte* source) {
    return Submitted(*device_, queue,
                     DeviceToHost{.target = reinterpret_cast<std::byte*>(target.data()),
                                  .source = source,
                                  .bytes = target.size()});
  }

  FakeCudaDriver* card_ = nullptr;
  std::unique_ptr<Device> device_;
  DeviceQueue queue_{};
};

}  // namespace acceld
