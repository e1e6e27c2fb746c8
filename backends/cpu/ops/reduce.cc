// The array is [outer, length, inner], folded over length. Sums are in double, so that they lose no
// digits however long they are.
//
// A task folds one segment of the length for one chunk of adjacent outputs. Where there are few
// outputs the length is cut into several segments, whose results are folded in order: cut by the
// shape alone.
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

// Outputs of a task: its accumulators stay in the first-level cache.
constexpr std::int64_t kChunk = 512;
// With at least this many tasks the length is not cut.
constexpr std::int64_t kEnoughTasks = 128;
// Segments have at least this many elements.
constexpr std::int64_t kSegmentElements = 16 * 1024;
// Less is not worth a thread, in elements.
constexpr std::int64_t kElementsPerThread = 16 * 1024;

constexpr std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

ACCELD_MULTIVERSION void AddRow(double* accumulators, const float* row, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) accumulators[i] += static_cast<double>(row[i]);
}

ACCELD_MULTIVERSION void MaxRow(double* accumulators, const float* row, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) {
    accumulators[i] = Max(accumulators[i], static_cast<double>(row[i]));
  }
}

ACCELD_MULTIVERSION void MinRow(double* accumulators, const float* row, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) {
    accumulators[i] = Min(accumulators[i], static_cast<double>(row[i]));
  }
}

// What differs between the reductions.
struct Fold {
  double start;
  double (*adjacent)(const float* x, std::int64_t n);
  void (*row)(double* accumulators, const float* row, std::int64_t n);
  double (*combine)(double a, double b);
};

Fold FoldFor(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      return {0, Sum, AddRow, [](double a, double b) { return a + b; }};
    case ReduceOp::kMax:
      return {std::numeric_limits<double>::quiet_NaN(),
              [](const float* x, std::int64_t n) -> double { return Largest(x, n); }, MaxRow,
              [](double a, double b) { return Max(a, b); }};
    case ReduceOp::kMin:
      break;
  }
  return {std::numeric_limits<double>::quiet_NaN(),
          [](const float* x, std::int64_t n) -> double { return Smallest(x, n); }, MinRow,
          [](double a, double b) { return Min(a, b); }};
}

struct Cut {
  std::int64_t outer;
  std::int64_t length;
  std::int64_t inner;
  std::int64_t chunks;
  std::int64_t segments;
  std::int64_t rows_per_segment;
};

Cut CutByShape(const Shape& shape, std::size_t axis) {
  Cut cut{};
  cut.outer = shape.Product(0, axis);
  cut.length = shape[axis];
  cut.inner = shape.Product(axis + 1, shape.rank());
  cut.chunks = CeilDivide(cut.inner, kChunk);
  const std::int64_t width = std::min(cut.inner, kChunk);
  const std::int64_t most = std::max<std::int64_t>(1, kEnoughTasks / (cut.outer * cut.chunks));
  cut.rows_per_segment =
      std::max({std::int64_t{1}, kSegmentElements / width, CeilDivide(cut.length, most)});
  cut.segments = CeilDivide(cut.length, cut.rows_per_segment);
  return cut;
}

}  // namespace

absl::Status Run(const ops::Reduce& op, CpuContext& context) {
  const std::size_t axis = static_cast<std::size_t>(op.axis);
  if (op.OutputCount() == 0) return absl::OkStatus();
  const Cut cut = CutByShape(op.shape, axis);
  const Fold fold = FoldFor(op.op);
  const float* const input = Pointer<const float>(op.input);
  float* const output = Pointer<float>(op.output);
  const std::int64_t outputs = cut.outer * cut.inner;
  const double divisor = op.op == ReduceOp::kMean ? static_cast<double>(cut.length) : 1;

  // [segments, outputs]; at most kEnoughTasks * kChunk, since the length is cut for few chunks
  // only.
  double* partial = nullptr;
  if (cut.segments > 1) {
    ACCELD_ASSIGN_OR_RETURN(
        std::byte* const workspace,
        context.Workspace(static_cast<std::uint64_t>(cut.segments * outputs) * sizeof(double)));
    partial = reinterpret_cast<double*>(workspace);
  }

  const auto run_task = [&](std::int64_t task) {
    const std::int64_t segment = task % cut.segments;
    const std::int64_t chunk = task / cut.segments % cut.chunks;
    const std::int64_t outer = task / cut.segments / cut.chunks;
    const std::int64_t first_row = segment * cut.rows_per_segment;
    const std::int64_t rows = std::min(cut.rows_per_segment, cut.length - first_row);
    const std::int64_t column = chunk * kChunk;
    const std::int64_t width = std::min(kChunk, cut.inner - column);
    const float* row = input + (outer * cut.length + first_row) * cut.inner + column;

    double accumulators[kChunk];
    if (cut.inner == 1) {
      accumulators[0] = fold.adjacent(row, rows);
    } else {
      std::fill(accumulators, accumulators + width, fold.start);
      for (std::int64_t i = 0; i < rows; ++i) fold.row(accumulators, row + i * cut.inner, width);
    }
    const std::int64_t first_output = outer * cut.inner + column;
    for (std::int64_t i = 0; i < width; ++i) {
      if (partial != nullptr) {
        partial[segment * outputs + first_output + i] = accumulators[i];
      } else {
        output[first_output + i] = static_cast<float>(accumulators[i] / divisor);
      }
    }
  };

  const std::int64_t task_elements = cut.rows_per_segment * std::min(cut.inner, kChunk);
  ParallelFor(context.threads(), cut.outer * cut.chunks * cut.segments,
              std::max<std::int64_t>(1, kElementsPerThread / task_elements),
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t task = begin; task < end; ++task) run_task(task);
              });

  if (partial != nullptr) {
    for (std::int64_t i = 0; i < outputs; ++i) {
      double result = partial[i];
      for (std::int64_t segment = 1; segment < cut.segments; ++segment) {
        result = fold.combine(result, partial[segment * outputs + i]);
      }
      output[i] = static_cast<float>(result / divisor);
    }
  }
  return absl::OkStatus();
}

}  // namespace acceld::cpu
