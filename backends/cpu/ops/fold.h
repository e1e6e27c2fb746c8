// Sums and extremes of adjacent elements, for reduce and softmax.
#pragma once

#include <cstdint>

namespace acceld::cpu {

// The sum in double, in a fixed order; -0 where all are, or n is 0.
double Sum(const float* x, std::int64_t n);

// The largest and the smallest as fmax and fmin: NaN only where all are, or n is 0.
float Largest(const float* x, std::int64_t n);
float Smallest(const float* x, std::int64_t n);

}  // namespace acceld::cpu
