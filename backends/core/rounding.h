// Conversion of f32 to the 16-bit formats of mixed precision and back: to nearest, ties to even,
// subnormals kept, overflow to infinity, NaN stays NaN (IEEE 754-2019, 4.3.1).
#pragma once

#include <cstdint>

#include "backends/core/values.h"

namespace acceld {

// The bit pattern of the binary16 value nearest to `value`.
std::uint16_t F32ToF16(float value);
// The value of a binary16 bit pattern; exact.
float F16ToF32(std::uint16_t bits);

// The bit pattern of the bfloat16 value nearest to `value`.
std::uint16_t F32ToBf16(float value);
// The value of a bfloat16 bit pattern; exact.
float Bf16ToF32(std::uint16_t bits);

// `value` rounded to `precision` and back to f32.
float RoundTo(MixedPrecision precision, float value);

}  // namespace acceld
