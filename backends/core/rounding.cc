#include "backends/core/rounding.h"

#include <bit>

namespace acceld {
namespace {

constexpr std::uint32_t kF32ExponentMask = 0x7f800000;
constexpr std::uint32_t kF32MantissaMask = 0x007fffff;

// Drops the low `bits` of `value`, to nearest, ties to even.
std::uint32_t ShiftRightToNearestEven(std::uint32_t value, int bits) {
  const std::uint32_t half = std::uint32_t{1} << (bits - 1);
  const std::uint32_t is_odd = (value >> bits) & 1;
  return (value + half - 1 + is_odd) >> bits;
}

}  // namespace

std::uint16_t F32ToF16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint16_t sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > kF32ExponentMask) {  // NaN: quiet, with the payload's upper bits
    return static_cast<std::uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x1ff));
  }
  if (magnitude >= 0x47800000) return sign | 0x7c00;  // 2^16 and above
  if (magnitude >= 0x38800000) {                      // normal: 2^-14 and above
    // Rebiases the exponent from 127 to 15. A carry out of the mantissa raises the exponent, and
    // from the largest finite value gives infinity.
    return static_cast<std::uint16_t>(
        sign | ShiftRightToNearestEven(magnitude - ((127u - 15u) << 23), 13));
  }
  if (magnitude < 0x33000000) return sign;  // below 2^-25: rounds to zero
  // Subnormal: units of 2^-24.
  const int exponent = static_cast<int>(magnitude >> 23);
  const std::uint32_t mantissa = (magnitude & kF32MantissaMask) | 0x00800000;
  return static_cast<std::uint16_t>(sign | ShiftRightToNearestEven(mantissa, 126 - exponent));
}

float F16ToF32(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1f;
  const std::uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  if (exponent == 0x1f) return std::bit_cast<float>(sign | kF32ExponentMask | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 127 - 15) << 23) | (mantissa << 13));
}

std::uint16_t F32ToBf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > kF32ExponentMask) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x0040);  // quiet NaN
  }
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float Bf16ToF32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float RoundTo(MixedPrecision precision, float value) {
  return precision == MixedPrecision::kF16 ? F16ToF32(F32ToF16(value))
                                           : Bf16ToF32(F32ToBf16(value));
}

}  // namespace acceld
