// Own kernels for products of matrices whose elements lie adjacent in depth: dot products, a tile
// of them at a time, with the lanes of vectors along the depth.
#pragma once

#include <cstdint>

namespace acceld::cpu {

// The most rows of A that a call takes.
inline constexpr std::int64_t kDotRows = 8;

// So many lanes make a sum, of T float or double.
template <typename T>
inline constexpr std::int64_t kDotLanes = 64 / std::int64_t{sizeof(T)};

// For [rows, depth] x [depth, columns], where A[i, l] is a[i * a_step + l] and B[l, j] is
// b[j * b_step + l].
template <typename T>
struct DotProducts {
  // At most kDotRows.
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  const T* a;
  std::int64_t a_step;
  const T* b;
  std::int64_t b_step;
};

// Adds the dot product of row i and column j, a lane's part of it to each lane, to those from
// lanes[(j * kDotRows + i) * kDotLanes] on.
template <typename T>
void AddDots(const DotProducts<T>& products, T* lanes);

// The sum of kDotLanes lanes.
template <typename T>
T SumOfLanes(const T* lanes);

}  // namespace acceld::cpu
