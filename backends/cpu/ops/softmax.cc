// The array is [outer, length, inner], normalized along length.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "backends/cpu/kernels.h"
#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/fold.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/ops/vector_math.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Adjacent columns of one task where the axis is not the innermost.
constexpr std::int64_t kChunk = 512;
// Less is not worth a thread, in elements.
constexpr std::int64_t kElementsPerThread = 4 * 1024;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

ACCELD_MULTIVERSION void ExpMinus(const float* x, double maximum, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(Exp(x[i] - maximum));
}

ACCELD_MULTIVERSION void Scale(double factor, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(y[i] * factor);
}

// One row of adjacent elements.
void SoftmaxRow(const float* x, float* y, std::int64_t n) {
  // An all-NaN row has no largest element; its exponentials are NaN all the same.
  ExpMinus(x, Max(Largest(x, n), kMinusInfinity), y, n);
  Scale(1 / Sum(y, n), y, n);
}

ACCELD_MULTIVERSION void MaxRow(const float* x, float* maxima, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) maxima[i] = Max(maxima[i], x[i]);
}

ACCELD_MULTIVERSION void ExpMinusRow(const float* x, const float* maxima, float* y, double* sums,
                                     std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) {
    const double e = Exp(static_cast<double>(x[i]) - static_cast<double>(maxima[i]));
    y[i] = static_cast<float>(e);
    sums[i] += e;
  }
}

ACCELD_MULTIVERSION void DivideRow(const double* sums, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(y[i] / sums[i]);
}

// Up to kChunk adjacent columns, with rows `pitch` elements apart.
void SoftmaxColumns(const float* x, float* y, std::int64_t rows, std::int64_t pitch,
                    std::int64_t width) {
  float maxima[kChunk];
  double sums[kChunk];
  std::fill(maxima, maxima + width, kMinusInfinity);
  std::fill(sums, sums + width, 0.0);
  for (std::int64_t i = 0; i < rows; ++i) MaxRow(x + i * pitch, maxima, width);
  for (std::int64_t i = 0; i < rows; ++i) {
    ExpMinusRow(x + i * pitch, maxima, y + i * pitch, sums, width);
  }
  for (std::int64_t i = 0; i < rows; ++i) DivideRow(sums, y + i * pitch, width);
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
  const std::int64_t chunks = (inner + kChunk - 1) / kChunk;
  const std::int64_t task_elements = length * std::min(inner, kChunk);
  ParallelFor(context.threads(), outer * chunks,
              std::max<std::int64_t>(1, kElementsPerThread / task_elements),
              [=](std::int64_t begin, std::int64_t end) {
                for (std::int64_t task = begin; task < end; ++task) {
                  const std::int64_t column = task % chunks * kChunk;
                  const std::int64_t first = task / chunks * length * inner + column;
                  if (inner == 1) {
                    SoftmaxRow(input + first, output + first, length);
                  } else {
                    SoftmaxColumns(input + first, output + first, length, inner,
                                   std::min(kChunk, inner - column));
                  }
                }
              });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
