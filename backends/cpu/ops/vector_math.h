// Functions of one element for loops that the compiler vectorizes: no calls and no branches.
//
// But for ExpUpTo0, the f32 functions are within 2 units in the last place of the exact value for
// every f32, subnormal or not, on each processor version: at most 1.1 for Exp, 1.4 for Tanh, 0.9
// for Log and 2.0 for Sigmoid, as tests/unit/backends/cpu/vector_math_test.cc shows. NaN gives NaN;
// what is too large gives infinity and what is too small 0.
//
// The ranges are reduced as in the Cephes library (Moshier, https://www.netlib.org/cephes): by
// multiples of log 2, in two parts of which the first, multiplied by a small integer, is exact
// (Cody and Waite, Software Manual for the Elementary Functions, 1980). The polynomials are
// minimax, from the Remez algorithm, with their coefficients rounded to f32.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "backends/cpu/multiversion.h"

namespace acceld::cpu {

// log 2 in two parts; the first has 15 significant bits.
inline constexpr float kLog2High = 0x1.62e4p-1f;
inline constexpr float kLog2Low = 0x1.7f7d1cp-20f;

// e^x
ACCELD_INLINE float Exp(float x) {
  // Added to a float it rounds it to an integer, which the sum's low bits then hold, larger by 254.
  constexpr float kToInteger = 0x1.8p23f + 254;
  constexpr std::int32_t kLargest = std::bit_cast<std::int32_t>(kToInteger) + 130;
  x = x < -104 ? -104.0f : x;  // NaN stays
  // x = n log 2 + r with |r| <= log(2) / 2, or a larger r where e^x is infinite anyway.
  std::int32_t shifted = std::bit_cast<std::int32_t>(x * 0x1.715476p0f + kToInteger);
  shifted = shifted < kLargest ? shifted : kLargest;
  const float n = std::bit_cast<float>(shifted) - kToInteger;
  const float r = (x - n * kLog2High) - n * kLog2Low;
  // e^r = 1 + r + r^2 p(r), exact to 2^-28; in an order with few steps one behind another.
  const float r2 = r * r;
  const float p = (0x1.fffffcp-2f + r * 0x1.55549p-3f) +
                  r2 * ((0x1.5558f4p-5f + r * 0x1.123a6cp-7f) + r2 * 0x1.6a2358p-10f);
  const float e = 1 + (r + r2 * p);
  // 2^n as two factors, since it may be subnormal: their biased exponents sum up to n + 254.
  const std::uint32_t both = static_cast<std::uint32_t>(shifted);
  const std::uint32_t half = both >> 1;
  return e * std::bit_cast<float>(half << 23) * std::bit_cast<float>((both - half) << 23);
}

// e^x where x <= 0, with fewer steps: within 3 2^-23 of itself, and 0 where it is subnormal.
ACCELD_INLINE float ExpUpTo0(float x) {
  constexpr float kToInteger = 0x1.8p23f + 127;
  constexpr float kLeast = -0x1.601e68p+6f;  // -127 log 2
  x = x < kLeast ? kLeast : x;               // NaN stays
  // x = n log 2 + r; the low bits of `shifted` are 2^n's exponent.
  const float shifted = x * 0x1.715476p0f + kToInteger;
  const float n = shifted - kToInteger;
  const float r = (x - n * kLog2High) - n * kLog2Low;
  // e^r, exact to 2^-22.5.
  float p = 0x1.0fe5b8p-7f;
  p = p * r + 0x1.575f08p-5f;
  p = p * r + 0x1.555a18p-3f;
  p = p * r + 0x1.fffd1ap-2f;
  p = p * r + 0x1.fffff6p-1f;
  p = p * r + 1;
  return p * std::bit_cast<float>(std::bit_cast<std::uint32_t>(shifted) << 23);
}

// 1 / (1 + e^-x)
ACCELD_INLINE float Sigmoid(float x) {
  // Below 0 as e^x / (1 + e^x), which neither overflows nor loses subnormals.
  const float e = Exp(x < 0 ? x : -x);
  const float sum = 1 + e;
  const float lost = e - (sum - 1);
  const float quotient = (x < 0 ? e : 1.0f) / sum;
  return quotient - quotient * lost * (x < 0 ? 1 - quotient : quotient);
}

ACCELD_INLINE float Tanh(float x) {
  const std::uint32_t sign = std::bit_cast<std::uint32_t>(x) & 0x80000000;
  const float magnitude = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) ^ sign);
  // tanh x = x + x^3 p(x^2), exact to 2^-27 up to 0.625.
  const float x2 = magnitude * magnitude;
  float p = -0x1.75e1c2p-8f;
  p = p * x2 + 0x1.522698p-6f;
  p = p * x2 - 0x1.b83c5ap-5f;
  p = p * x2 + 0x1.110726p-3f;
  p = p * x2 - 0x1.555532p-2f;
  const float near = magnitude + magnitude * x2 * p;
  const float far = 1 - 2 / (Exp(2 * magnitude) + 1);
  const float result = magnitude < 0.625f ? near : far;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(result) | sign);
}

ACCELD_INLINE float Log(float x) {
  constexpr std::uint32_t kSqrtHalf = std::bit_cast<std::uint32_t>(0x1.6a09e6p-1f);
  const bool subnormal = x < 0x1p-126f;
  const float normal = subnormal ? x * 0x1p23f : x;
  // x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(normal);
  const std::int32_t exponent = static_cast<std::int32_t>(bits - kSqrtHalf) >> 23;
  const float f = std::bit_cast<float>(bits - (static_cast<std::uint32_t>(exponent) << 23)) - 1;
  const float n = static_cast<float>(exponent) - (subnormal ? 23.0f : 0.0f);
  // log(1 + f) = f - f^2 / 2 + f^3 p(f), exact to 2^-27.
  float p = -0x1.38b564p-4f;
  p = p * f + 0x1.055b5ap-3f;
  p = p * f - 0x1.0d854p-3f;
  p = p * f + 0x1.22da2p-3f;
  p = p * f - 0x1.547246p-3f;
  p = p * f + 0x1.99a008p-3f;
  p = p * f - 0x1.000226p-2f;
  p = p * f + 0x1.555554p-2f;
  const float f2 = f * f;
  float result = (f + (f * f2 * p - 0.5f * f2 + n * kLog2Low)) + n * kLog2High;
  result = x < std::numeric_limits<float>::infinity() ? result : x;  // infinity and NaN
  result = x == 0 ? -std::numeric_limits<float>::infinity() : result;
  return x < 0 ? std::numeric_limits<float>::quiet_NaN() : result;
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

// The larger of two as fmax: the number where one side is NaN. Two steps that each are one
// instruction, without a branch, also where the loop is not vectorized.
template <typename T>
ACCELD_INLINE T Max(T a, T b) {
  const T larger = a > b ? a : b;
  return b != b ? a : larger;
}

template <typename T>
ACCELD_INLINE T Min(T a, T b) {
  const T smaller = a < b ? a : b;
  return b != b ? a : smaller;
}

}  // namespace acceld::cpu
