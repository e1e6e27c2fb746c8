// Random numbers for tests. The seed differs from run to run, is printed where a test fails, and is
// set by the environment variable ACCELD_TEST_SEED to repeat that run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
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

  // A length of no friendly kind: one, a few, a prime, or one off a power of two.
  std::int64_t OddLength(std::int64_t limit) {
    constexpr std::int64_t kLengths[] = {1,  2,  3,  5,   7,   13,  17,  31,
                                         61, 63, 65, 127, 251, 257, 509, 1021};
    std::int64_t count = 0;
    while (count < std::ssize(kLengths) && kLengths[count] <= limit) ++count;
    return kLengths[Integer(0, count - 1)];
  }

  // Of 1 to `max_rank` such dimensions and at most `max_elements` elements.
  std::vector<std::int64_t> OddDims(std::int64_t max_rank, std::int64_t max_elements) {
    std::vector<std::int64_t> dims(static_cast<std::size_t>(Integer(1, max_rank)));
    std::int64_t left = max_elements;
    for (std::int64_t& dim : dims) {
      dim = OddLength(left);
      left /= dim;
    }
    std::shuffle(dims.begin(), dims.end(), engine_);
    return dims;
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
