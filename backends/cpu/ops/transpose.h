// Transposes matrices of floats.
#pragma once

#include <cstdint>

namespace acceld::cpu {

// Transposes 4 rows of 16 elements into 16 rows of 4, `stride` apart.
void Transpose4x16(const float* const rows[4], float* target, std::int64_t stride);

// Transposes [rows, columns], whose rows lie `from_stride` apart, to [columns, rows], `to_stride`
// apart, in the calling thread.
void TransposeMatrix(const float* from, std::int64_t rows, std::int64_t columns,
                     std::int64_t from_stride, float* to, std::int64_t to_stride);

}  // namespace acceld::cpu
