// The array is [outer, length, inner], normalized along length: by one of three ways, which depends
// on the shape.
//
// Rows of adjacent elements that fit into the second-level cache are read once. Small parts of a
// large outer dimension are taken together. All else is in softmax_columns.h.
//
// Differences to the largest element are rounded to f32, which makes the exponential of a
// difference of d wrong by up to d 2^-25 of itself; sums are of short pieces in f32, which add up
// in double.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels.h"
#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/ops/softmax_columns.h"
#include "backends/cpu/ops/streaming_store.h"
#include "backends/cpu/ops/vector_math.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Less is not worth a thread, in elements.
constexpr std::int64_t kElementsPerThread = 4 * 1024;
// A row of up to this many elements, 64 KiB, is in the second-level cache when it is read again.
constexpr std::int64_t kLongestRow = 16 * 1024;
// Elements that are exponentiated together; a row is padded to a multiple.
constexpr std::int64_t kBlock = 32;
// Exponentials that add up in f32.
constexpr std::int64_t kPiece = 512;
// Small parts that are taken together.
constexpr std::int64_t kSmallElements = 1024;
constexpr std::int64_t kSmallPart = 512;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// NaN is not larger than anything.
ACCELD_INLINE float Larger(float a, float b) { return b > a ? b : a; }

ACCELD_MULTIVERSION float LargestOf(const float* x, std::int64_t n) {
  constexpr std::int64_t kLanes = 64;
  float lanes[kLanes];
  for (float& lane : lanes) lane = kMinusInfinity;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = Larger(lanes[lane], x[i + lane]);
    }
  }
  for (std::int64_t lane = 0; i < n; ++i, ++lane) lanes[lane] = Larger(lanes[lane], x[i]);
  float largest = kMinusInfinity;
  for (const float lane : lanes) largest = Larger(largest, lane);
  return largest;
}

// e = exp(x - shift), and their sum. `n` is a multiple of kBlock. Fetches as much from `next` on.
ACCELD_MULTIVERSION double ExpAndSum(const float* x, float shift, float* e, std::int64_t n,
                                     const float* next) {
  double sums[kBlock] = {};
  for (std::int64_t piece = 0; piece < n; piece += kPiece) {
    float lanes[kBlock] = {};
    for (std::int64_t i = piece; i < std::min(piece + kPiece, n); i += kBlock) {
      __builtin_prefetch(next + i, /*rw=*/0, /*locality=*/2);
      __builtin_prefetch(next + i + 16, /*rw=*/0, /*locality=*/2);
      ACCELD_INDEPENDENT_ELEMENTS
      for (std::int64_t lane = 0; lane < kBlock; ++lane) {
        const float exponential = Exp(x[i + lane] - shift);
        e[i + lane] = exponential;
        lanes[lane] += exponential;
      }
    }
    for (std::int64_t lane = 0; lane < kBlock; ++lane) {
      sums[lane] += static_cast<double>(lanes[lane]);
    }
  }
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return sum;
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

// One row of up to kLongestRow adjacent elements; `e` has room for one. Fetches the row at `next`.
void SoftmaxRow(const float* x, float* e, float* y, std::int64_t n, const float* next,
                bool streamed) {
  const float largest = LargestOf(x, n);
  const float shift = largest == kMinusInfinity ? 0 : largest;
  const std::int64_t rest = n % kBlock;
  double sum = ExpAndSum(x, shift, e, n - rest, next);
  if (rest > 0) {
    float padded[kBlock];
    std::fill(padded, padded + kBlock, kMinusInfinity);
    std::memcpy(padded, x + n - rest, static_cast<std::size_t>(rest) * sizeof(float));
    sum += ExpAndSum(padded, shift, padded, kBlock, next + n - rest);
    std::memcpy(e + n - rest, padded, static_cast<std::size_t>(rest) * sizeof(float));
  }
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

void SoftmaxRows(const float* x, float* y, std::int64_t rows, std::int64_t n, bool streamed) {
  float e[kLongestRow];
  for (std::int64_t row = 0; row < rows; ++row, x += n, y += n) {
    SoftmaxRow(x, e, y, n, row + 1 < rows ? x + n : x, streamed);
  }
  FinishStreaming();
}

ACCELD_MULTIVERSION void ExpOfDifferences(const float* x, const float* shifts, float* e,
                                          std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) e[i] = Exp(x[i] - shifts[i]);
}

ACCELD_MULTIVERSION void Multiply(const float* e, const float* factors, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = e[i] * factors[i];
}

// Calls value(column, pitch) for each column of each part, and writes what it returns to all of the
// column in `values`.
template <typename Value>
ACCELD_INLINE void SpreadOverColumns(std::int64_t parts, std::int64_t length, std::int64_t inner,
                                     const float* x, float* values, Value value) {
  for (std::int64_t part = 0; part < parts; ++part) {
    for (std::int64_t i = 0; i < inner; ++i) {
      const std::int64_t first = part * length * inner + i;
      const float result = value(x + first);
      for (std::int64_t j = 0; j < length; ++j) values[first + j * inner] = result;
    }
  }
}

// [outer, length, inner], whose parts of length * inner elements are small.
void SoftmaxSmallParts(const float* x, float* y, std::int64_t outer, std::int64_t length,
                       std::int64_t inner) {
  float e[kSmallElements];
  float values[kSmallElements];
  const std::int64_t part = length * inner;
  const std::int64_t together = kSmallElements / part;
  for (; outer > 0; outer -= together, x += together * part, y += together * part) {
    const std::int64_t parts = std::min(together, outer);
    SpreadOverColumns(parts, length, inner, x, values, [=](const float* column) {
      float largest = column[0];
      for (std::int64_t j = 1; j < length; ++j) largest = Larger(largest, column[j * inner]);
      return largest == kMinusInfinity ? 0.0f : largest;
    });
    ExpOfDifferences(x, values, e, parts * part);
    SpreadOverColumns(parts, length, inner, e, values, [=](const float* column) {
      double sum = 0;
      for (std::int64_t j = 0; j < length; ++j) sum += static_cast<double>(column[j * inner]);
      return static_cast<float>(1 / sum);
    });
    Multiply(e, values, y, parts * part);
  }
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
  const std::int64_t part = length * inner;
  const bool rows = inner == 1 && length >= kBlock && length <= kLongestRow;
  if (!rows && part > kSmallPart) {
    return SoftmaxColumns(input, output, {.outer = outer, .length = length, .inner = inner},
                          context);
  }
  const bool streamed = IsStreamed(outer * part) && input != output;
  ParallelFor(context.threads(), outer, std::max<std::int64_t>(1, kElementsPerThread / part),
              [=](std::int64_t begin, std::int64_t end) {
                const float* x = input + begin * part;
                float* y = output + begin * part;
                if (rows) {
                  SoftmaxRows(x, y, end - begin, length, streamed);
                } else {
                  SoftmaxSmallParts(x, y, end - begin, length, inner);
                }
              });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
