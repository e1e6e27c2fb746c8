// A tile is [length, width]: adjacent columns of the array, or where the inner dimension is narrow,
// the columns of several outer parts, copied next to each other.
#include "backends/cpu/ops/softmax_tiles.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/streaming_store.h"
#include "backends/cpu/ops/vector_math.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// A tile has at most this many elements, 64 KiB.
constexpr std::int64_t kTileElements = 16 * 1024;
constexpr std::int64_t kMostColumns = 512;
// The columns of parts narrower than this are copied together, to tiles of this width.
constexpr std::int64_t kCopiedColumns = kTileElements / kLongestTile;
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

// y may be e.
ACCELD_MULTIVERSION void Multiply(const float* e, const float* factors, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = e[i] * factors[i];
}

// The same past the caches, of elements that begin a line.
ACCELD_MULTIVERSION void StreamProducts(const float* e, const float* factors, float* y,
                                        std::int64_t blocks) {
  for (std::int64_t i = 0; i < blocks * kStreamedBlock; i += kStreamedBlock) {
    float block[kStreamedBlock];
    for (std::int64_t j = 0; j < kStreamedBlock; ++j) block[j] = e[i + j] * factors[i + j];
    StreamBlock(block, y + i);
  }
}

void MultiplyTo(const float* e, const float* factors, float* y, std::int64_t n, bool streamed) {
  if (!streamed) return Multiply(e, factors, y, n);
  const std::int64_t head = ElementsToLine(y, n);
  const std::int64_t blocks = (n - head) / kStreamedBlock;
  const std::int64_t tail = head + blocks * kStreamedBlock;
  Multiply(e, factors, y, head);
  StreamProducts(e + head, factors + head, y + head, blocks);
  Multiply(e + tail, factors + tail, y + tail, n - tail);
}

// `e` has room for length * width elements and may be x, with the pitch `width`.
void SoftmaxTile(const float* x, float* e, float* y, std::int64_t length, std::int64_t pitch,
                 std::int64_t width, bool streamed) {
  alignas(64) float shifts[kMostColumns];
  alignas(64) float sums[kMostColumns];
  std::fill(shifts, shifts + width, kMinusInfinity);
  std::fill(sums, sums + width, 0.0f);
  for (std::int64_t j = 0; j < length; ++j) TakeLargest(x + j * pitch, shifts, width);
  for (std::int64_t i = 0; i < width; ++i) shifts[i] = shifts[i] == kMinusInfinity ? 0 : shifts[i];
  for (std::int64_t j = 0; j < length; ++j) {
    ExpAndSum(x + j * pitch, shifts, e + j * width, sums, width);
  }
  // Of an empty sum, NaN.
  for (std::int64_t i = 0; i < width; ++i) sums[i] = 1 / sums[i];
  for (std::int64_t j = 0; j < length; ++j) {
    MultiplyTo(e + j * width, sums, y + j * pitch, width, streamed);
  }
}

// [parts, length] turned into [length, parts], and back: the inner loop is over the many parts. Not
// for several processors: there the compiler would gather and scatter, which is slower.
void Transpose(const float* from, float* __restrict__ to, std::int64_t parts, std::int64_t length) {
  for (std::int64_t j = 0; j < length; ++j) {
    for (std::int64_t i = 0; i < parts; ++i) to[j * parts + i] = from[i * length + j];
  }
}

void TransposeBack(const float* from, float* __restrict__ to, std::int64_t parts,
                   std::int64_t length) {
  for (std::int64_t j = 0; j < length; ++j) {
    for (std::int64_t i = 0; i < parts; ++i) to[i * length + j] = from[j * parts + i];
  }
}

// [parts, length, inner] turned into [length, parts, inner]. The other way round with the first two
// exchanged.
ACCELD_MULTIVERSION void ExchangeRows(const float* from, float* __restrict__ to, std::int64_t parts,
                                      std::int64_t length, std::int64_t inner) {
  for (std::int64_t part = 0; part < parts; ++part) {
    for (std::int64_t j = 0; j < length; ++j) {
      const float* const source = from + (part * length + j) * inner;
      float* const target = to + (j * parts + part) * inner;
      for (std::int64_t i = 0; i < inner; ++i) target[i] = source[i];
    }
  }
}

// The columns of `parts` narrow parts; `tile` has room for them.
void SoftmaxParts(const float* x, float* tile, float* y, std::int64_t parts, std::int64_t length,
                  std::int64_t inner) {
  const std::int64_t width = parts * inner;
  if (inner == 1) {
    Transpose(x, tile, parts, length);
  } else {
    ExchangeRows(x, tile, parts, length, inner);
  }
  SoftmaxTile(tile, tile, tile, length, width, width, /*streamed=*/false);
  if (inner == 1) {
    TransposeBack(tile, y, parts, length);
  } else {
    ExchangeRows(tile, y, length, parts, inner);
  }
}

void SoftmaxNarrow(const float* x, float* y, const SoftmaxSizes& sizes, int threads) {
  const std::int64_t together = kCopiedColumns / sizes.inner;
  const std::int64_t part = sizes.length * sizes.inner;
  ParallelFor(threads, CeilDivide(sizes.outer, together),
              std::max<std::int64_t>(1, kElementsPerThread / (part * together)),
              [=](std::int64_t begin, std::int64_t end) {
                alignas(64) float tile[kTileElements];
                const std::int64_t last = std::min(end * together, sizes.outer);
                for (std::int64_t i = begin * together; i < last; i += together) {
                  SoftmaxParts(x + i * part, tile, y + i * part, std::min(together, last - i),
                               sizes.length, sizes.inner);
                }
              });
}

}  // namespace

void SoftmaxTiles(const float* x, float* y, const SoftmaxSizes& sizes, int threads) {
  if (sizes.inner < kCopiedColumns) return SoftmaxNarrow(x, y, sizes, threads);
  const auto [outer, length, inner] = sizes;
  const std::int64_t chunks =
      CeilDivide(inner, std::min(kMostColumns, kTileElements / length / 16 * 16));
  const std::int64_t width = std::min(CeilDivide(CeilDivide(inner, chunks), 16) * 16, inner);
  const bool streamed = x != y && IsStreamed(outer * length * inner);
  ParallelFor(threads, outer * chunks,
              std::max<std::int64_t>(1, kElementsPerThread / (length * width)),
              [=, length = length, inner = inner](std::int64_t begin, std::int64_t end) {
                alignas(64) float e[kTileElements];
                for (std::int64_t task = begin; task < end; ++task) {
                  const std::int64_t column = task % chunks * width;
                  const std::int64_t first = task / chunks * length * inner + column;
                  if (column >= inner) continue;
                  SoftmaxTile(x + first, e, y + first, length, inner,
                              std::min(width, inner - column), streamed);
                }
                FinishStreaming();
              });
}

}  // namespace acceld::cpu
