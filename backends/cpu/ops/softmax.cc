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
constexpr std::int64_t kShortestRow = 128;
// A row of up to this many elements, 64 KiB, is in the second-level cache when it is read again.
constexpr std::int64_t kLongestRow = 16 * 1024;
// Exponentials that add up in f32.
constexpr std::int64_t kPiece = 16 * kBlock;

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

float ShiftFor(float largest) { return largest == kMinusInfinity ? 0 : largest; }

// The exponentials of a row's differences to its shift, block by block. Fetches as much from `next`
// on meanwhile.
struct Exponentials {
  const float* x;
  float shift;
  const float* next;
  float* e;
  float lanes[kBlock] = {};
  double sums[kBlock] = {};

  ACCELD_INLINE void operator()(std::int64_t i, float* /*values*/) {
    if (i % kPiece == 0) AddLanes();
    for (std::int64_t j = 0; j < kBlock; j += kLine) {
      FetchLine(next + i + j);
    }
    ACCELD_INDEPENDENT_ELEMENTS
    for (std::int64_t lane = 0; lane < kBlock; ++lane) {
      e[i + lane] = ExpUpTo0(x[i + lane] - shift);
      lanes[lane] += e[i + lane];
    }
  }

  ACCELD_INLINE void AddLanes() {
    for (std::int64_t lane = 0; lane < kBlock; ++lane) {
      sums[lane] += static_cast<double>(lanes[lane]);
      lanes[lane] = 0;
    }
  }

  double Sum() {
    AddLanes();
    for (std::int64_t half = kBlock / 2; half > 0; half /= 2) {
      for (std::int64_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    }
    return sums[0];
  }
};

// The same, with the results of the row before, whose exponentials are overwritten: those
// `distance` elements farther on.
struct ExponentialsAfter {
  Exponentials row;
  std::int64_t distance;
  float factor;

  ACCELD_INLINE void operator()(std::int64_t i, float* values) {
    const float* const former = row.e + distance + i;
    for (std::int64_t lane = 0; lane < kBlock; ++lane) values[lane] = former[lane] * factor;
    row(i, nullptr);
  }
};

ACCELD_MULTIVERSION Exponentials ForBlocks(std::int64_t begin, std::int64_t end,
                                           Exponentials exponentials) {
  for (std::int64_t i = begin; i < end; i += kBlock) exponentials(i, nullptr);
  return exponentials;
}

void WriteScaled(const float* e, float factor, float* y, std::int64_t n, bool streamed) {
  WriteElements(y, n, streamed, [=](std::int64_t i) ACCELD_INLINE_LAMBDA { return e[i] * factor; });
}

// A row whose exponentials there are, but not its results; `y` is null where there is none.
struct Former {
  float factor;
  float* y;
};

// The exponentials of a row of n elements, and their sum. Writes the results of the row before past
// the caches meanwhile: computing hides the time that takes.
double ExpAndSum(Exponentials row, std::int64_t n, const Former& former) {
  const std::int64_t blocks_end = n / kBlock * kBlock;
  std::int64_t done = 0;
  if (former.y != nullptr) {
    const std::int64_t head = ElementsToLine(former.y, n);
    done = (n - head) / kBlock * kBlock;
    const std::int64_t tail = head + done;
    WriteScaled(row.e, former.factor, former.y, head, /*streamed=*/false);
    WriteScaled(row.e + tail, former.factor, former.y + tail, n - tail, /*streamed=*/true);
    const ExponentialsAfter after{.row = row, .distance = head, .factor = former.factor};
    row = StreamBlocks(former.y + head, 0, done, after).row;
  }
  if (done < blocks_end) row = ForBlocks(done, blocks_end, row);
  if (blocks_end < n) {
    alignas(64) float padded[kBlock];
    std::fill(padded, padded + kBlock, kMinusInfinity);
    std::copy(row.x + blocks_end, row.x + n, padded);
    row.x = padded;
    row.e += blocks_end;
    row.next += blocks_end;
    row = ForBlocks(0, kBlock, row);
  }
  return row.Sum();
}

// Rows of up to kLongestRow adjacent elements.
void SoftmaxRows(const float* x, float* y, std::int64_t rows, std::int64_t n, bool streamed) {
  alignas(64) float e[kLongestRow + kBlock];
  Former former{};
  for (std::int64_t row = 0; row < rows; ++row, x += n, y += n) {
    const float* next = row + 1 < rows ? x + n : x;
    const double sum =
        ExpAndSum({.x = x, .shift = ShiftFor(LargestOf(x, n)), .next = next, .e = e}, n, former);
    // Of an empty sum, NaN.
    const float factor = static_cast<float>(1 / sum);
    if (streamed) {
      former = {.factor = factor, .y = y};
    } else {
      WriteScaled(e, factor, y, n, streamed);
    }
  }
  if (streamed) WriteScaled(e, former.factor, former.y, n, streamed);
  FinishStreaming();
}

// Of an element by itself: 1, but NaN of NaN and infinity.
void SoftmaxOfSingles(const float* x, float* y, std::int64_t n, bool streamed) {
  WriteElements(
      y, n, streamed, [=](std::int64_t i) ACCELD_INLINE_LAMBDA { return x[i] - x[i] + 1; },
      [=](std::int64_t i) ACCELD_INLINE_LAMBDA { FetchAhead(x + i); });
  FinishStreaming();
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
  const bool streamed = IsStreamed(count) && input != output;
  if (length == 1) {
    ParallelFor(context.threads(), count, kElementsPerThread,
                [=](std::int64_t begin, std::int64_t end) {
                  SoftmaxOfSingles(input + begin, output + begin, end - begin, streamed);
                });
    return absl::OkStatus();
  }
  const SoftmaxSizes sizes = {.outer = outer, .length = length, .inner = inner};
  if (inner > 1 || length < kShortestRow || length > kLongestRow) {
    if (length > kLongestTile) return SoftmaxColumns(input, output, sizes, context);
    SoftmaxTiles(input, output, sizes, context.threads());
    return absl::OkStatus();
  }
  ParallelFor(context.threads(), outer, std::max<std::int64_t>(1, kElementsPerThread / length),
              [=](std::int64_t begin, std::int64_t end) {
                SoftmaxRows(input + begin * length, output + begin * length, end - begin, length,
                            streamed);
              });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
