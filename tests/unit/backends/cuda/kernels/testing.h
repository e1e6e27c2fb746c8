// What the tests of the kernels share. Kernels run on the host, where device memory is vectors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "backends/core/handles.h"
#include "backends/cuda/kernels/run_on_host.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace acceld::cuda {

// Random data from a seed that is new each time, or ACCELD_TEST_SEED's.
class Random {
 public:
  Random() {
    const char* text = std::getenv("ACCELD_TEST_SEED");
    seed_ = text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device()();
    engine_.seed(seed_);
  }

  // For SCOPED_TRACE: how to repeat a failure.
  std::string Trace() const { return "ACCELD_TEST_SEED=" + std::to_string(seed_); }

  // In [low, high].
  std::int64_t Integer(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  template <typename E>
  E Pick(std::initializer_list<E> values) {
    return values.begin()[Integer(0, static_cast<std::int64_t>(values.size()) - 1)];
  }
  // In [-range, range).
  std::vector<float> Floats(std::int64_t count, float range = 1) {
    std::uniform_real_distribution<float> distribution(-range, range);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = distribution(engine_);
    return values;
  }

 private:
  std::uint64_t seed_;
  std::mt19937_64 engine_;
};

template <typename T>
Address AddressOf(const std::vector<T>& data) {
  return reinterpret_cast<Address>(data.data());
}

// An array that begins `offset` elements after an aligned address, with elements around it that
// nothing may change.
class Placed {
 public:
  Placed(const std::vector<float>& values, int offset)
      : offset_(static_cast<std::size_t>(offset)), memory_((offset_ + values.size()) / 4 + 2) {
    std::fill_n(&memory_[0].x[0], 4 * memory_.size(), kAround);
    std::copy(values.begin(), values.end(), data());
    size_ = values.size();
  }

  float* data() { return &memory_[0].x[0] + offset_; }
  std::vector<float> values() { return {data(), data() + size_}; }

  void ExpectNothingAroundChanged() {
    const float* const all = &memory_[0].x[0];
    for (std::size_t i = 0; i < 4 * memory_.size(); ++i) {
      if (i >= offset_ && i < offset_ + size_) continue;
      ASSERT_EQ(all[i], kAround) << "element " << i;
    }
  }

 private:
  static constexpr float kAround = -12345;

  std::size_t offset_;
  std::size_t size_;
  std::vector<Float4> memory_;
};

// Whether both have the same bits.
inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// What run(order) returns, which must be the same in both orders: no thread depends on another.
template <typename Run>
std::vector<float> InBothOrders(Run run) {
  const std::vector<float> forward = run(HostOrder::kForward);
  EXPECT_TRUE(SameBits(forward, run(HostOrder::kBackward)));
  return forward;
}

// Whether each element is within `absolute` + `relative` times the expected one, NaN where that is
// NaN and infinite where that is.
inline void ExpectClose(const std::vector<float>& actual, const std::vector<float>& expected,
                        double relative, double absolute) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double a = actual[i];
    const double e = expected[i];
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    ASSERT_LE(std::abs(a - e), absolute + relative * std::abs(e))
        << "element " << i << ": " << a << " instead of " << e;
  }
}

}  // namespace acceld::cuda
