// A small column-major matrix transposed, for kernels that read whole columns.
#pragma once

#include <cstdint>

namespace acceld::cpu {

// Writes the transpose of [rows, columns], whose columns are `ld` apart, without gaps.
void TransposeColumns(const float* from, std::int64_t ld, std::int64_t rows, std::int64_t columns,
                      float* to);
void TransposeColumns(const double* from, std::int64_t ld, std::int64_t rows, std::int64_t columns,
                      double* to);

}  // namespace acceld::cpu
