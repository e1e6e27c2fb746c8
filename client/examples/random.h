// Random numbers that are the same on every machine and with every standard library, which the
// distributions of <random> are not.
#pragma once

#include <cstdint>
#include <random>

namespace acceld::examples {

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}

  // Evenly from [-bound, bound).
  float Uniform(float bound) {
    constexpr double kTwoToMinus31 = 1.0 / (1U << 31);
    return static_cast<float>((engine_() * kTwoToMinus31 - 1) * bound);
  }

  // From [0, limit), evenly but for one part in 2^32 / limit.
  std::uint32_t Below(std::uint32_t limit) {
    return static_cast<std::uint32_t>((std::uint64_t{engine_()} * limit) >> 32);
  }

 private:
  // Its sequence is fixed by the C++ standard.
  std::mt19937 engine_;
};

}  // namespace acceld::examples
