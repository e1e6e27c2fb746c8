// Blocks of matrices, copied to where a product reads them, and rounded as mixed precision has it.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/core/values.h"

namespace acceld::cpu {

// A block of a column-major matrix as stored, of float or double.
template <typename T>
struct Block {
  const T* data;
  std::int64_t ld;
  std::int64_t rows;
  std::int64_t columns;
};

// What a product's factors are rounded to, if anything; those of double are not.
using Rounding = std::optional<MixedPrecision>;

// Writes the block, rounded, to [rows, columns] adjacent elements. That may be where it is.
void CopyBlock(const Block<float>& block, Rounding rounding, float* target);
void CopyBlock(const Block<double>& block, Rounding rounding, double* target);

// Writes bf16 itself. Returns whether any is subnormal.
bool CopyBlockAsBf16(const Block<float>& block, std::uint16_t* target);

}  // namespace acceld::cpu
