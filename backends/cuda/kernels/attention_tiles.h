// The tiles of attention in a block's shared memory, and what its threads do with them.
#pragma once

#include <cmath>
#include <cstdint>

#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/extremes.h"
#include "backends/cuda/kernels/grid.h"

namespace acceld::cuda {

// The sizes of ops::Attention; `heads` is those of all batches.
struct AttentionShape {
  std::int64_t heads = 0;
  std::int64_t seq_q = 0;
  std::int64_t seq_kv = 0;
  std::int64_t head_dim = 0;
  float scale = 1;
  bool causal = false;

  // How many keys, from the first on, a query sees.
  ACCELD_HOST_DEVICE std::int64_t VisibleKeys(std::int64_t query) const {
    if (!causal) return seq_kv;
    const std::int64_t visible = query + seq_kv - seq_q + 1;
    return Larger<std::int64_t>(0, Smaller(visible, seq_kv));
  }
};

// Keys of a tile, its columns, and its rows where there are queries enough.
inline constexpr int kTile = 64;
// Four more than a row, so that rows begin in different banks, and still at aligned addresses.
inline constexpr int kPitch = kTile + 4;

// Threads side by side, and one below the other.
inline constexpr int kThreadColumns = 16;
inline constexpr int kThreadRows = 8;
inline constexpr int kAttentionThreads = kThreadColumns * kThreadRows;
// A thread's columns of a tile; of a tile with so many rows it has every kThreadRows-th.
inline constexpr int kColumns = kTile / kThreadColumns;
static_assert(kColumns == kVectorLength);

// For `kQueries` queries at a time.
template <int kQueries>
struct alignas(16) AttentionShared {
  // For what is done row by row, so many threads share a row.
  static constexpr int kShares = kAttentionThreads / kQueries;
  static constexpr int kShareColumns = kTile / kShares;
  static_assert(kShareColumns % kVectorLength == 0);

  // Queries, then scores and weights.
  float left[kQueries][kPitch];
  // Keys, then values.
  float right[kTile][kPitch];
  // Of each query: the largest score so far, and the sum of the exponentials relative to it.
  float largest[kQueries];
  double sum[kQueries];
  // Of this tile of keys, by share of the row.
  float tile_largest[kShares][kQueries];
  float tile_sum[kShares][kQueries];
  // What outputs and sum are scaled by before this tile is taken in.
  float factor[kQueries];
};
static_assert(sizeof(AttentionShared<kTile>) <= kMaxSharedBytes);

ACCELD_HOST_DEVICE int RowOf(int thread, int i) {
  return thread / kThreadColumns + i * kThreadRows;
}

// Of a product whose right factor's columns are rows of a tile.
ACCELD_HOST_DEVICE int ColumnOf(int thread, int j) {
  return thread % kThreadColumns + j * kThreadColumns;
}

// Of a product whose columns are those of a tile: four adjacent ones from here on.
ACCELD_HOST_DEVICE int FirstColumnOf(int thread) { return thread % kThreadColumns * kColumns; }

// Which keys of a tile, from `key` on, the queries of a block see: the first ones.
class SeenKeys {
 public:
  ACCELD_HOST_DEVICE SeenKeys(const AttentionShape& shape, std::int64_t first_query,
                              std::int64_t key)
      : keys_(static_cast<int>(Smaller<std::int64_t>(kTile, shape.seq_kv - key))),
        first_(keys_),
        step_(shape.causal ? 1 : 0) {
    if (!shape.causal) return;
    const std::int64_t first = first_query + shape.seq_kv - shape.seq_q + 1 - key;
    first_ = static_cast<int>(Larger<std::int64_t>(-kTile, Smaller<std::int64_t>(first, kTile)));
  }

  // How many the query in `row` sees.
  ACCELD_HOST_DEVICE int Of(int row) const {
    return Larger(0, Smaller(first_ + row * step_, keys_));
  }
  ACCELD_HOST_DEVICE bool AllSeeAll() const { return first_ >= keys_; }

 private:
  int keys_;
  // Before it is limited to [0, keys_]: what the first query sees, and how much more each next one.
  int first_;
  int step_;
};

// tile[i][j] = source[i * pitch + j] for i below `rows` and j below `columns`, 0 beyond. Rows begin
// at aligned addresses, and `columns` is a multiple of 4.
template <int kTileRows>
ACCELD_HOST_DEVICE void LoadVectors(int thread, const float* source, std::int64_t pitch, int rows,
                                    int columns, float (&tile)[kTileRows][kPitch]) {
  const int column = FirstColumnOf(thread);
  ACCELD_UNROLL
  for (int i = 0; i < kTileRows / kThreadRows; ++i) {
    const int row = RowOf(thread, i);
    Float4 v{};
    if (row < rows && column < columns) v = LoadVector(source + row * pitch + column);
    StoreVector(&tile[row][column], v);
  }
}

// The same, of any alignment and any `columns`.
template <int kTileRows>
ACCELD_HOST_DEVICE void LoadElements(int thread, const float* source, std::int64_t pitch, int rows,
                                     int columns, float (&tile)[kTileRows][kPitch]) {
  for (int i = 0; i < kTileRows / kThreadRows; ++i) {
    const int row = RowOf(thread, i);
    ACCELD_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      const int column = ColumnOf(thread, j);
      tile[row][column] = row < rows && column < columns ? source[row * pitch + column] : 0;
    }
  }
}

// product += left right^T, over the first `depth` columns of both.
template <int kTileRows, int kRows>
ACCELD_HOST_DEVICE void MultiplyByRows(int thread, int depth,
                                       const float (&left)[kTileRows][kPitch],
                                       const float (&right)[kTile][kPitch],
                                       float (&product)[kRows][kColumns]) {
  static_assert(kRows * kThreadRows == kTileRows);
  for (int d = 0; d < depth; d += kVectorLength) {
    Float4 columns[kColumns];
    ACCELD_UNROLL
    for (int j = 0; j < kColumns; ++j) columns[j] = LoadVector(&right[ColumnOf(thread, j)][d]);
    ACCELD_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const Float4 row = LoadVector(&left[RowOf(thread, i)][d]);
      ACCELD_UNROLL
      for (int j = 0; j < kColumns; ++j) {
        ACCELD_UNROLL
        for (int e = 0; e < kVectorLength; ++e) product[i][j] += row.x[e] * columns[j].x[e];
      }
    }
  }
}

// product += left right. Masked, a row takes only the rows of `right` that it sees: a weight of
// zero would still spread a NaN.
template <bool kMasked, int kTileRows, int kRows>
ACCELD_HOST_DEVICE void MultiplyByColumns(int thread, const SeenKeys& seen,
                                          const float (&left)[kTileRows][kPitch],
                                          const float (&right)[kTile][kPitch],
                                          float (&product)[kRows][kColumns]) {
  static_assert(kRows * kThreadRows == kTileRows);
  for (int d = 0; d < kTile; d += kVectorLength) {
    Float4 rows[kVectorLength];
    ACCELD_UNROLL
    for (int e = 0; e < kVectorLength; ++e) {
      rows[e] = LoadVector(&right[d + e][FirstColumnOf(thread)]);
    }
    ACCELD_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const Float4 weights = LoadVector(&left[RowOf(thread, i)][d]);
      ACCELD_UNROLL
      for (int e = 0; e < kVectorLength; ++e) {
        if (kMasked && d + e >= seen.Of(RowOf(thread, i))) continue;
        ACCELD_UNROLL
        for (int j = 0; j < kColumns; ++j) product[i][j] += weights.x[e] * rows[e].x[j];
      }
    }
  }
}

// Of the thread's share of a row of scores.
template <int kQueries>
ACCELD_HOST_DEVICE void FindLargest(int thread, AttentionShared<kQueries>& shared) {
  constexpr int kShareColumns = AttentionShared<kQueries>::kShareColumns;
  const int row = thread % kQueries;
  const int share = thread / kQueries;
  float largest = -INFINITY;
  for (int c = 0; c < kShareColumns; c += kVectorLength) {
    const Float4 scores = LoadVector(&shared.left[row][share * kShareColumns + c]);
    ACCELD_UNROLL
    for (const float score : scores.x) largest = MaxNumber(largest, score);
  }
  shared.tile_largest[share][row] = largest;
}

template <int kQueries>
ACCELD_HOST_DEVICE float LargestSoFar(int row, const AttentionShared<kQueries>& shared) {
  float largest = shared.largest[row];
  ACCELD_UNROLL
  for (int share = 0; share < AttentionShared<kQueries>::kShares; ++share) {
    largest = MaxNumber(largest, shared.tile_largest[share][row]);
  }
  return largest;
}

// Turns the thread's share of a row of scores into weights.
template <int kQueries>
ACCELD_HOST_DEVICE void Exponentiate(int thread, AttentionShared<kQueries>& shared) {
  constexpr int kShareColumns = AttentionShared<kQueries>::kShareColumns;
  const int row = thread % kQueries;
  const int share = thread / kQueries;
  const float largest = LargestSoFar(row, shared);
  // While every score is minus infinity, infinity - infinity would make a NaN of weights that a
  // later score may turn to zero.
  const float shift = largest == -INFINITY ? 0 : largest;
  float sum = 0;
  for (int c = 0; c < kShareColumns; c += kVectorLength) {
    float* const at = &shared.left[row][share * kShareColumns + c];
    Float4 weights = LoadVector(at);
    ACCELD_UNROLL
    for (float& weight : weights.x) {
      weight = std::exp(weight - shift);
      sum += weight;
    }
    StoreVector(at, weights);
  }
  shared.tile_sum[share][row] = sum;
  if (share == 0) shared.factor[row] = std::exp(shared.largest[row] - shift);
}

// The tile's largest score and sum into those of the row so far.
template <int kQueries>
ACCELD_HOST_DEVICE void TakeIn(int row, AttentionShared<kQueries>& shared) {
  shared.largest[row] = LargestSoFar(row, shared);
  double sum = shared.sum[row] * static_cast<double>(shared.factor[row]);
  ACCELD_UNROLL
  for (int share = 0; share < AttentionShared<kQueries>::kShares; ++share) {
    sum += static_cast<double>(shared.tile_sum[share][row]);
  }
  shared.sum[row] = sum;
}

}  // namespace acceld::cuda
