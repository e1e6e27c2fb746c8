// The larger and the smaller of two numbers: the number where one side is NaN, as fmax and fmin of
// IEEE 754 (the C library's return NaN for a signaling one).
#pragma once

#include <cmath>

namespace acceld::reference {

template <typename T>
T Larger(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return a > b ? a : b;
}

template <typename T>
T Smaller(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return a < b ? a : b;
}

}  // namespace acceld::reference
