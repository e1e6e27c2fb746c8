#include "backends/cpu/ops/rounded_block.h"

#include <bit>
#include <cstddef>
#include <cstring>

#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/vector_math.h"

namespace acceld::cpu {
namespace {

ACCELD_MULTIVERSION void CopyAsF16(const Block<float>& block, float* target) {
  for (std::int64_t j = 0; j < block.columns; ++j, target += block.rows) {
    const float* const column = block.data + j * block.ld;
    ACCELD_INDEPENDENT_ELEMENTS
    for (std::int64_t i = 0; i < block.rows; ++i) target[i] = RoundToF16(column[i]);
  }
}

ACCELD_MULTIVERSION void CopyAsBf16(const Block<float>& block, float* target) {
  for (std::int64_t j = 0; j < block.columns; ++j, target += block.rows) {
    const float* const column = block.data + j * block.ld;
    ACCELD_INDEPENDENT_ELEMENTS
    for (std::int64_t i = 0; i < block.rows; ++i) target[i] = RoundToBf16(column[i]);
  }
}

template <typename T>
void CopyAsItIs(const Block<T>& block, T* target) {
  const auto bytes = static_cast<std::size_t>(block.rows) * sizeof(T);
  for (std::int64_t j = 0; j < block.columns; ++j, target += block.rows) {
    std::memmove(target, block.data + j * block.ld, bytes);
  }
}

// As one column, where there are no gaps between columns.
template <typename T>
Block<T> WithoutGaps(const Block<T>& block) {
  if (block.ld != block.rows) return block;
  const std::int64_t count = block.rows * block.columns;
  return {block.data, count, count, 1};
}

}  // namespace

void CopyBlock(const Block<float>& stored, Rounding rounding, float* target) {
  const Block<float> block = WithoutGaps(stored);
  if (!rounding.has_value()) {
    CopyAsItIs(block, target);
  } else if (*rounding == MixedPrecision::kF16) {
    CopyAsF16(block, target);
  } else {
    CopyAsBf16(block, target);
  }
}

void CopyBlock(const Block<double>& block, Rounding /*rounding*/, double* target) {
  CopyAsItIs(WithoutGaps(block), target);
}

ACCELD_MULTIVERSION bool CopyBlockAsBf16(const Block<float>& block, std::uint16_t* target) {
  std::uint32_t subnormals = 0;
  for (std::int64_t j = 0; j < block.columns; ++j, target += block.rows) {
    const float* const column = block.data + j * block.ld;
    ACCELD_INDEPENDENT_ELEMENTS
    for (std::int64_t i = 0; i < block.rows; ++i) {
      const float rounded = RoundToBf16(column[i]);
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(rounded);
      // A NaN whose payload is in its lower half stays one.
      target[i] = static_cast<std::uint16_t>((bits >> 16) | (rounded == rounded ? 0 : 0x40));
      const std::uint32_t magnitude = bits & 0x7fffffff;
      subnormals |= (magnitude - 1 < 0x7fffff) ? 1 : 0;
    }
  }
  return subnormals != 0;
}

}  // namespace acceld::cpu
