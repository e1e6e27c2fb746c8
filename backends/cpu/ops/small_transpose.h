// Rows too short for loops over them, rearranged so that the loops are over many of them: four
// elements at a time, also where fewer are left of a row. Then those behind it are read as well,
// and what is written behind its target is overwritten later. What is outside of the arrays is
// neither read nor written, but for up to three factors behind the last.
#pragma once

#include <cstdint>

namespace acceld::cpu {

// [rows, columns] turned into [columns, rows].
void Transpose(const float* from, std::int64_t rows, std::int64_t columns, float* to);

// The same with each column multiplied by its factor.
void TransposeScaled(const float* from, std::int64_t rows, std::int64_t columns,
                     const float* factors, float* to);

// [outer, middle, inner] turned into [middle, outer, inner]; `inner` is at least 2.
void ExchangeRows(const float* from, std::int64_t outer, std::int64_t middle, std::int64_t inner,
                  float* to);

// The same with each [middle, inner] multiplied by factors of the same shape.
void ExchangeRowsScaled(const float* from, std::int64_t outer, std::int64_t middle,
                        std::int64_t inner, const float* factors, float* to);

}  // namespace acceld::cpu
