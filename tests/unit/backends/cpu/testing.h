// What the tests of the CPU device share.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "backends/core/mutex.h"
#include "backends/cpu/cpu_device.h"
#include "backends/device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace acceld {

// A CPU device, and calls that wait.
class TestDevice {
 public:
  explicit TestDevice(const CpuOptions& options = {.threads = 2, .memory_limit_bytes = 0});

  Device& operator*() { return *device_; }
  Device* operator->() { return device_.get(); }

  // Submits `work` and waits until it is done.
  absl::Status Run(const Work& work);

 private:
  std::unique_ptr<Device> device_;
};

// Opened once; others wait for it.
class Gate {
 public:
  void Open();
  void Wait();

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ = false;
};

// Work too large to run inline, on memory of its own.
class LargeFill {
 public:
  LargeFill() : memory_(1 << 20) {}
  Work work() {
    return Op(ops::Memset{
        .target = reinterpret_cast<Address>(memory_.data()), .value = 1, .bytes = memory_.size()});
  }

 private:
  std::vector<std::uint8_t> memory_;
};

// Device memory is host memory, so that AddressSanitizer sees an access beyond a vector's end.
template <typename T>
Address AddressOf(const std::vector<T>& data) {
  return reinterpret_cast<Address>(data.data());
}

// Random data from a seed that is new each time, or ACCELD_TEST_SEED's.
class Random {
 public:
  Random();
  // For SCOPED_TRACE: how to repeat a failure.
  std::string Trace() const { return "ACCELD_TEST_SEED=" + std::to_string(seed_); }

  // In [low, high].
  std::int64_t Integer(std::int64_t low, std::int64_t high);
  template <typename E>
  E Pick(std::initializer_list<E> values) {
    return values.begin()[Integer(0, static_cast<std::int64_t>(values.size()) - 1)];
  }
  // In [-1, 1).
  template <typename T = float>
  std::vector<T> Vector(std::int64_t count) {
    std::uniform_real_distribution<T> distribution(-1, 1);
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& value : values) value = distribution(engine_);
    return values;
  }

 private:
  std::uint64_t seed_;
  std::mt19937_64 engine_;
};

// Whether each element is within `absolute` + `relative` times the expected one, NaN where that is
// NaN and infinite where that is.
template <typename T>
void ExpectClose(const std::vector<T>& actual, const std::vector<T>& expected, double relative,
                 double absolute) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == expected[i] || (actual[i] != actual[i] && expected[i] != expected[i]))
      continue;
    ASSERT_LE(std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i])),
              absolute + relative * std::abs(static_cast<double>(expected[i])))
        << "element " << i << ": " << actual[i] << " instead of " << expected[i];
  }
}

// Whether both have the same bits.
template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace acceld
