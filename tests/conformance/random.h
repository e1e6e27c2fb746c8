// Random numbers for tests. The seed differs from run to run, is printed where a test fails, and is
// set by the environment variable ACCELD_TEST_SEED to repeat that run.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

namespace acceld::conformance {

class Random {
 public:
  explicit Random(std::uint64_t seed = ChooseSeed()) : seed_(seed), engine_(seed) {}

  std::uint64_t seed() const { return seed_; }

  // In [low, high].
  std::int64_t Integer(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }

  // In [low, high).
  double Real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }

  template <typename T>
  std::vector<T> Vector(std::int64_t count, double low = -1, double high = 1) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& value : values) value = static_cast<T>(Real(low, high));
    return values;
  }
  std::vector<float> Floats(std::int64_t count, double low = -1, double high = 1) {
    return Vector<float>(count, low, high);
  }

 private:
  static std::uint64_t ChooseSeed() {
    const char* chosen = std::getenv("ACCELD_TEST_SEED");
    return chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : std::random_device{}();
  }

  const std::uint64_t seed_;
  std::mt19937_64 engine_;
};

}  // namespace acceld::conformance
