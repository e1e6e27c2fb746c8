#include "tests/unit/backends/cpu/testing.h"

#include "tests/unit/backends/core/is_status.h"

namespace acceld {

TestDevice::TestDevice(const CpuOptions& options) : device_(MakeCpuDevice(options)) {
  EXPECT_THAT(device_->Init(), IsOk());
}

absl::Status TestDevice::Run(const Work& work) {
  Gate done;
  absl::Status status;
  device_->Submit(DeviceQueue{0}, work, [&](const WorkResult& result) {
    status = result.status;
    done.Open();
  });
  done.Wait();
  return status;
}

void Gate::Open() {
  // Under the lock, so that the waiter cannot destroy the gate before the notification.
  MutexLock lock(mutex_);
  open_ = true;
  changed_.NotifyAll();
}

void Gate::Wait() {
  MutexLock lock(mutex_);
  changed_.Wait(mutex_, [this] { return open_; });
}

Random::Random() {
  const char* text = std::getenv("ACCELD_TEST_SEED");
  seed_ = text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device()();
  engine_.seed(seed_);
}

std::int64_t Random::Integer(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
}

}  // namespace acceld
