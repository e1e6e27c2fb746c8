// The array is [outer, length, inner], normalized along length: by one of three ways, which depends
// on the shape.
//
// Rows of adjacent elements that fit into the second-level cache are read once. Small parts of a
// large outer dimension are taken together. All else is in softmax_columns.h.
//
// Differences to the largest element are rounded to f32, which makes the exponential of a
// difference of d wrong by up to d 2^-25 of itself, beside what ExpUpTo0 says; sums are of short
// pieces in f32, which add up in double.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels.h"
#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/ops/softmax_columns.h"
#include "backends/cpu/ops/softmax_sizes.h"
#include "backends/cpu/ops/softmax_tiles.h"
#include "backends/cpu/ops/streaming_store.h"
#include "backends/cpu/ops/vector_math.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Less is not worth a thread, in elements.
constexpr std::int64_t kElementsPerThread = 4 * 1024;
// A shorter row is more of a tile's.
constexpr std::int64_t kShortestRow = 32;
// A row of up to this many elements, 64 KiB, is in the second-level cache when it is read again.
constexpr std::int64_t kLongestRow = 16 * 1024;
// Elements that are exponentiated together; a row is padded to a multiple.
constexpr std::int64_t kBlock = 32;
// A row of up to this many that is no multiple is padded as a whole.
constexpr std::int64_t kPaddedRow = 512;
// Exponentials that add up in f32.
constexpr std::int64_t kPiece = 512;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// NaN is not larger than anything.
ACCELD_INLINE float Larger(float a, float b) { return b > a ? b : a; }

ACCELD_MULTIVERSION float LargestOf(const float* x, std::int64_t n) {
  float lanes[kBlock];
  for (float& lane : lanes) lane = kMinusInfinity;
  std::int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    for (std::int64_t lane = 0; lane < kBlock; ++lane) {
      lanes[lane] = Larger(lanes[lane], x[i + lane]);
    }
  }
  for (std::int64_t lane = 0; i < n; ++i, ++lane) lanes[lane] = Larger(lanes[lane], x[i]);
  for (std::int64_t half = kBlock / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane) {
      lanes[lane] = Larger(lanes[lane], lanes[lane + half]);
    }
  }
  return lanes[0];
}

// What `e` holds of the row before, which becomes that row's results meanwhile: written past the
// caches to `y`, where a line begins. Computing hides the time that takes.
struct Former {
  float factor;
  float* y;
};

// e = exp(x - shift), and their sum. `n` is a multiple of kBlock. Fetches as much from `next` on.
template <bool kHasFormer>
ACCELD_INLINE double ExpAndSumOf(const float* x, float shift, float* e, std::int64_t n,
                                 const float* next, Former former) {
  double sums[kBlock] = {};
  for (std::int64_t piece = 0; piece < n; piece += kPiece) {
    float lanes[kBlock] = {};
    for (std::int64_t i = piece; i < std::min(piece + kPiece, n); i += kBlock) {
      __builtin_prefetch(next + i, /*rw=*/0, /*locality=*/2);
      __builtin_prefetch(next + i + 16, /*rw=*/0, /*locality=*/2);
      alignas(64) float scaled[kBlock];
      ACCELD_INDEPENDENT_ELEMENTS
      for (std::int64_t lane = 0; lane < kBlock; ++lane) {
        if constexpr (kHasFormer) scaled[lane] = e[i + lane] * former.factor;
        const float exponential = ExpUpTo0(x[i + lane] - shift);
        e[i + lane] = exponential;
        lanes[lane] += exponential;
      }
      if constexpr (kHasFormer) StreamBlock<kBlock>(scaled, former.y + i);
    }
    for (std::int64_t lane = 0; lane < kBlock; ++lane) {
      sums[lane] += static_cast<double>(lanes[lane]);
    }
  }
  for (std::int64_t half = kBlock / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0];
}

ACCELD_MULTIVERSION double ExpAndSum(const float* x, float shift, float* e, std::int64_t n,
                                     const float* next) {
  return ExpAndSumOf<false>(x, shift, e, n, next, {});
}

ACCELD_MULTIVERSION double ExpAndSumAfter(Former former, const float* x, float shift, float* e,
                                          std::int64_t n, const float* next) {
  return ExpAndSumOf<true>(x, shift, e, n, next, former);
}

ACCELD_MULTIVERSION void Scale(const float* e, float factor, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = e[i] * factor;
}

// The same past the caches, of elements that begin a line.
ACCELD_MULTIVERSION void StreamScaled(const float* e, float factor, float* y, std::int64_t blocks) {
  for (std::int64_t i = 0; i < blocks * kStreamedBlock; i += kStreamedBlock) {
    float block[kStreamedBlock];
    for (std::int64_t j = 0; j < kStreamedBlock; ++j) block[j] = e[i + j] * factor;
    StreamBlock(block, y + i);
  }
}

float ShiftFor(float largest) { return largest == kMinusInfinity ? 0 : largest; }

// e = exp(x - its largest), and their sum; as SoftmaxRow.
double ExpAndSumOfRow(const float* x, float* e, std::int64_t n, const float* next) {
  const std::int64_t rest = n % kBlock;
  if (rest == 0) return ExpAndSum(x, ShiftFor(LargestOf(x, n)), e, n, next);
  alignas(64) float padded[kPaddedRow];
  const std::int64_t first = n <= kPaddedRow ? 0 : n - rest;
  const std::int64_t end = (n - first + kBlock - 1) / kBlock * kBlock;
  std::fill(padded + end - kBlock, padded + end, kMinusInfinity);
  std::memcpy(padded, x + first, static_cast<std::size_t>(n - first) * sizeof(float));
  if (first == 0) return ExpAndSum(padded, ShiftFor(LargestOf(padded, end)), e, end, next);
  const float shift = ShiftFor(LargestOf(x, n));
  const double sum = ExpAndSum(x, shift, e, first, next);
  return sum + ExpAndSum(padded, shift, e + first, kBlock, next + first);
}

// One row of up to kLongestRow adjacent elements; `e` has room for one, padded. Fetches the row at
// `next`.
void SoftmaxRow(const float* x, float* e, float* y, std::int64_t n, const float* next,
                bool streamed) {
  const double sum = ExpAndSumOfRow(x, e, n, next);
  // Of an empty sum, NaN.
  const float factor = static_cast<float>(1 / sum);
  if (!streamed) return Scale(e, factor, y, n);
  const std::int64_t head = ElementsToLine(y, n);
  const std::int64_t blocks = (n - head) / kStreamedBlock;
  const std::int64_t tail = head + blocks * kStreamedBlock;
  Scale(e, factor, y, head);
  StreamScaled(e + head, factor, y + head, blocks);
  Scale(e + tail, factor, y + tail, n - tail);
}

// Rows of a multiple of kStreamedBlock elements, each of which begins a line of `y`.
void StreamSoftmaxRows(const float* x, float* y, std::int64_t rows, std::int64_t n) {
  alignas(64) float e[kLongestRow];
  Former former{};
  for (std::int64_t row = 0; row < rows; ++row, x += n, y += n) {
    const float shift = ShiftFor(LargestOf(x, n));
    const float* next = row + 1 < rows ? x + n : x;
    const double sum =
        row == 0 ? ExpAndSum(x, shift, e, n, next) : ExpAndSumAfter(former, x, shift, e, n, next);
    // Of an empty sum, NaN.
    former = {.factor = static_cast<float>(1 / sum), .y = y};
  }
  StreamScaled(e, former.factor, former.y, n / kStreamedBlock);
  FinishStreaming();
}

void SoftmaxRows(const float* x, float* y, std::int64_t rows, std::int64_t n, bool streamed) {
  if (streamed && n % kStreamedBlock == 0 && ElementsToLine(y, n) == 0) {
    return StreamSoftmaxRows(x, y, rows, n);
  }
  alignas(64) float e[kLongestRow];
  for (std::int64_t row = 0; row < rows; ++row, x += n, y += n) {
    SoftmaxRow(x, e, y, n, row + 1 < rows ? x + n : x, streamed);
  }
  FinishStreaming();
}

// Of an element by itself: 1, but NaN of NaN and infinity.
ACCELD_MULTIVERSION void SoftmaxOfSingles(const float* x, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] - x[i] + 1;
}

}  // namespace

absl::Status Run(const ops::Softmax& op, CpuContext& context) {
  const std::size_t axis = static_cast<std::size_t>(op.axis);
  const std::int64_t outer = op.shape.Product(0, axis);
  const std::int64_t length = op.shape[axis];
  const std::int64_t inner = op.shape.Product(axis + 1, op.shape.rank());
  if (outer == 0 || length == 0 || inner == 0) return absl::OkStatus();
  const float* input = Pointer<const float>(op.input);
  float* output = Pointer<float>(op.output);
  const std::int64_t count = outer * length * inner;
  if (length == 1) {
    ParallelFor(context.threads(), count, kElementsPerThread,
                [=](std::int64_t begin, std::int64_t end) {
                  SoftmaxOfSingles(input + begin, output + begin, end - begin);
                });
    return absl::OkStatus();
  }
  const SoftmaxSizes sizes = {.outer = outer, .length = length, .inner = inner};
  if (inner > 1 || length < kShortestRow || length > kLongestRow) {
    if (length > kLongestTile) return SoftmaxColumns(input, output, sizes, context);
    SoftmaxTiles(input, output, sizes, context.threads());
    return absl::OkStatus();
  }
  const bool streamed = IsStreamed(count) && input != output;
  ParallelFor(context.threads(), outer, std::max<std::int64_t>(1, kElementsPerThread / length),
              [=](std::int64_t begin, std::int64_t end) {
                SoftmaxRows(input + begin * length, output + begin * length, end - begin, length,
                            streamed);
              });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
