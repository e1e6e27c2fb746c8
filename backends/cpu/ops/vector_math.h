// Functions of one element for loops that the compiler vectorizes: no calls and no branches.
// Computed in double, they round to within one unit in the last place of f32, and neither overflow
// nor lose subnormals on the way.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "backends/cpu/multiversion.h"

namespace acceld::cpu {

inline constexpr double kLog2 = 0x1.62e42fefa39efp-1;

// Added to a double below 2^51, it rounds it to an integer, which the sum's low bits then hold.
inline constexpr double kToInteger = 0x1.8p52;

// e^x; exact to 1e-14 where that is a finite f32, beyond it infinity or 0 once rounded to f32.
ACCELD_INLINE double Exp(double x) {
  x = x < -200 ? -200 : x;  // NaN stays
  x = x > 200 ? 200 : x;
  // x = n log 2 + r with |r| <= log(2) / 2; e^x = 2^n e^r.
  const double shifted = x * (1 / kLog2) + kToInteger;
  const double r = x - (shifted - kToInteger) * kLog2;
  // The Taylor series: what follows is below r^12 / 12! < 7e-15.
  double e = 1.0 / 39916800;
  e = e * r + 1.0 / 3628800;
  e = e * r + 1.0 / 362880;
  e = e * r + 1.0 / 40320;
  e = e * r + 1.0 / 5040;
  e = e * r + 1.0 / 720;
  e = e * r + 1.0 / 120;
  e = e * r + 1.0 / 24;
  e = e * r + 1.0 / 6;
  e = e * r + 1.0 / 2;
  e = e * r + 1;
  e = e * r + 1;
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(shifted) << 52;
  return e * std::bit_cast<double>(exponent + std::bit_cast<std::uint64_t>(1.0));
}

ACCELD_INLINE double Sigmoid(double x) { return 1 / (1 + Exp(-x)); }

ACCELD_INLINE double Tanh(double x) {
  const double e = Exp(2 * x);
  const double x2 = x * x;
  // Near 0 the quotient's numerator would cancel.
  const double series = x - x * x2 * (1.0 / 3 - x2 * (2.0 / 15));
  return ((x < 0x1p-8) & (x > -0x1p-8)) ? series : (e - 1) / (e + 1);
}

// log x of an f32 x (as a double it is never subnormal).
ACCELD_INLINE double Log(double x) {
  // x = 2^n m with m in [sqrt(1/2), sqrt(2)); n is biased by 1024 so that it is positive.
  constexpr std::uint64_t kOneExponent = std::uint64_t{1} << 52;
  constexpr std::uint64_t kSqrtHalf = std::bit_cast<std::uint64_t>(0x1.6a09e667f3bcdp-1);
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t n = (bits - kSqrtHalf + 1024 * kOneExponent) >> 52;
  const double m = std::bit_cast<double>(bits - n * kOneExponent + 1024 * kOneExponent);
  const double n_as_double =
      std::bit_cast<double>(std::bit_cast<std::uint64_t>(kToInteger) + n) - (kToInteger + 1024);
  // log m = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.172; the series' next term is below 1e-12.
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double series = 1.0 / 13;
  series = series * s2 + 1.0 / 11;
  series = series * s2 + 1.0 / 9;
  series = series * s2 + 1.0 / 7;
  series = series * s2 + 1.0 / 5;
  series = series * s2 + 1.0 / 3;
  series = series * s2 + 1;
  double result = n_as_double * kLog2 + 2 * s * series;
  result = x < std::numeric_limits<double>::infinity() ? result : x;  // infinity and NaN
  result = x == 0 ? -std::numeric_limits<double>::infinity() : result;
  return x < 0 ? std::numeric_limits<double>::quiet_NaN() : result;
}

// `x` rounded to bf16 and back; bit for bit RoundTo's (core/rounding.h), but for a NaN's payload.
ACCELD_INLINE float RoundToBf16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000;
  return x == x ? std::bit_cast<float>(rounded) : x;
}

// `x` rounded to f16 and back, likewise.
ACCELD_INLINE float RoundToF16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits & 0x80000000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  std::uint32_t normal = (magnitude + 0xfff + ((magnitude >> 13) & 1)) & 0xffffe000;
  normal = normal >= 0x47800000 ? 0x7f800000 : normal;  // 2^16 is infinity
  // Below 2^-14 f16 counts in units of 2^-24, which are the last places of a float in [1/2, 1).
  const float subnormal = (std::bit_cast<float>(magnitude) + 0.5f) - 0.5f;
  const std::uint32_t rounded =
      magnitude < 0x38800000 ? std::bit_cast<std::uint32_t>(subnormal) : normal;
  return x == x ? std::bit_cast<float>(rounded | sign) : x;
}

// The larger of two as fmax: the number where one side is NaN.
template <typename T>
ACCELD_INLINE T Max(T a, T b) {
  return ((a > b) | (b != b)) ? a : b;
}

template <typename T>
ACCELD_INLINE T Min(T a, T b) {
  return ((a < b) | (b != b)) ? a : b;
}

}  // namespace acceld::cpu
