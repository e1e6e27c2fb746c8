// A tile is [length, width]: adjacent columns of the array, or where the inner dimension is narrow,
// the columns of several outer parts, copied next to each other.
#include "backends/cpu/ops/softmax_tiles.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/small_transpose.h"
#include "backends/cpu/ops/streaming_store.h"
#include "backends/cpu/ops/vector_math.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// A tile has at most this many elements, 192 KiB, which the second-level cache holds beside what it
// is computed from.
constexpr std::int64_t kTileElements = 48 * 1024;
// What a tile of copied columns should have: many for loops over them, but in a cache near by.
constexpr std::int64_t kCopiedElements = 8 * 1024;
constexpr std::int64_t kMostColumns = 512;
// Exponentials that add up by themselves, so that long sums lose no digits.
constexpr std::int64_t kPieceRows = 32;
constexpr std::int64_t kFewestColumns = 64;
// Less is not worth a thread, in elements.
constexpr std::int64_t kElementsPerThread = 4 * 1024;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

constexpr std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

ACCELD_MULTIVERSION void TakeLargest(const float* x, float* largest, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) largest[i] = x[i] > largest[i] ? x[i] : largest[i];
}

// e may be x.
ACCELD_MULTIVERSION void ExpAndSum(const float* x, const float* shifts, float* e, float* sums,
                                   std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) {
    e[i] = ExpUpTo0(x[i] - shifts[i]);
    sums[i] += e[i];
  }
}

void WriteProducts(const float* e, const float* factors, float* y, std::int64_t n, bool streamed) {
  WriteElements(y, n, streamed,
                [=](std::int64_t i) ACCELD_INLINE_LAMBDA { return e[i] * factors[i]; });
}

ACCELD_MULTIVERSION void Add(const float* x, float* sums, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) sums[i] += x[i];
}

// Differences to minus infinity, where a column has nothing larger, are to 0.
ACCELD_MULTIVERSION void ReplaceMinusInfinity(float* shifts, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) shifts[i] = shifts[i] == kMinusInfinity ? 0 : shifts[i];
}

// Of an empty sum, NaN.
ACCELD_MULTIVERSION void Invert(float* sums, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) sums[i] = 1 / sums[i];
}

// [length, width] elements of rows that are `pitch` apart.
struct Tile {
  const float* first;
  std::int64_t pitch;
};

// e = exp(x - the largest of its column), of adjacent rows, and what to multiply each column with.
// `e` may be x. Fetches `next`, as large a tile, into the second-level cache meanwhile.
void ExpTile(const Tile& x, std::int64_t length, std::int64_t width, const Tile& next, float* e,
             float* factors) {
  alignas(64) float shifts[kMostColumns];
  std::fill(shifts, shifts + width, kMinusInfinity);
  for (std::int64_t j = 0; j < length; ++j) TakeLargest(x.first + j * x.pitch, shifts, width);
  ReplaceMinusInfinity(shifts, width);
  alignas(64) float piece[kMostColumns];
  for (std::int64_t first = 0; first < length; first += kPieceRows) {
    float* const sums = first == 0 ? factors : piece;
    std::fill(sums, sums + width, 0.0f);
    for (std::int64_t j = first; j < std::min(first + kPieceRows, length); ++j) {
      for (std::int64_t i = 0; i < width; i += kLine) {
        FetchLine(next.first + j * next.pitch + i);
      }
      ExpAndSum(x.first + j * x.pitch, shifts, e + j * width, sums, width);
    }
    if (first > 0) Add(piece, factors, width);
  }
  Invert(factors, width);
}

// The columns of `parts` narrow parts. `tile` and `results` have room for them.
void SoftmaxParts(const float* x, float* tile, float* results, float* y, std::int64_t parts,
                  const SoftmaxSizes& sizes, bool streamed) {
  alignas(64) float factors[kMostColumns + 3];
  const auto [outer, length, inner] = sizes;
  const std::int64_t width = parts * inner;
  if (inner == 1) {
    Transpose(x, parts, length, tile);
  } else {
    ExchangeRows(x, parts, length, inner, tile);
  }
  ExpTile({tile, width}, length, width, {x + length * width, width}, tile, factors);
  float* const target = streamed ? results : y;
  if (inner == 1) {
    TransposeScaled(tile, length, parts, factors, target);
  } else {
    ExchangeRowsScaled(tile, length, parts, inner, factors, target);
  }
  if (streamed) StreamElements(results, y, width * length);
}

void SoftmaxNarrow(const float* x, float* y, const SoftmaxSizes& sizes, int threads) {
  const std::int64_t columns =
      std::clamp(kCopiedElements / sizes.length, kFewestColumns, kMostColumns);
  const std::int64_t together = std::max<std::int64_t>(1, columns / sizes.inner);
  const std::int64_t part = sizes.length * sizes.inner;
  const bool streamed = x != y && IsStreamed(sizes.outer * part);
  ParallelFor(threads, CeilDivide(sizes.outer, together),
              std::max<std::int64_t>(1, kElementsPerThread / (part * together)),
              [=](std::int64_t begin, std::int64_t end) {
                alignas(64) float tile[kLongestTile * kFewestColumns];
                alignas(64) float results[kLongestTile * kFewestColumns];
                const std::int64_t last = std::min(end * together, sizes.outer);
                for (std::int64_t i = begin * together; i < last; i += together) {
                  SoftmaxParts(x + i * part, tile, results, y + i * part,
                               std::min(together, last - i), sizes, streamed);
                }
                FinishStreaming();
              });
}

}  // namespace

void SoftmaxTiles(const float* x, float* y, const SoftmaxSizes& sizes, int threads) {
  if (sizes.inner < kFewestColumns) return SoftmaxNarrow(x, y, sizes, threads);
  const auto [outer, length, inner] = sizes;
  const std::int64_t chunks =
      CeilDivide(inner, std::min(kMostColumns, kTileElements / length / 16 * 16));
  const std::int64_t width = std::min(CeilDivide(CeilDivide(inner, chunks), 16) * 16, inner);
  const bool streamed = x != y && IsStreamed(outer * length * inner);
  ParallelFor(
      threads, outer * chunks, std::max<std::int64_t>(1, kElementsPerThread / (length * width)),
      [=, length = length, inner = inner](std::int64_t begin, std::int64_t end) {
        alignas(64) float e[kTileElements];
        alignas(64) float factors[kMostColumns];
        for (std::int64_t task = begin; task < end; ++task) {
          const std::int64_t column = task % chunks * width;
          if (column >= inner) continue;
          const std::int64_t part = task / chunks * length * inner;
          const std::int64_t columns = std::min(width, inner - column);
          const std::int64_t next =
              column + width < inner ? part + column + width : part + length * inner;
          ExpTile({x + part + column, inner}, length, columns, {x + next, inner}, e, factors);
          const bool whole = streamed && chunks == 1;
          for (std::int64_t j = 0; j < length; ++j) {
            float* const row = e + j * columns;
            WriteProducts(row, factors, whole ? row : y + part + j * inner + column, columns,
                          streamed && !whole);
          }
          // At once, so that no line is only begun at a row's end.
          if (whole) StreamElements(e, y + part, length * inner);
        }
        FinishStreaming();
      });
}

}  // namespace acceld::cpu
