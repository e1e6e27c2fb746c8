// Two passes (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018). The first
// finds each column's largest element and the sum of the exponentials relative to it, which is
// scaled down whenever a larger element comes; the second computes the exponentials again and
// normalizes them.
//
// A task does so for one segment of the length and one chunk of adjacent columns. Where there are
// few columns the length is cut into segments, by the shape alone, and what each found is combined
// in order between the passes.
#include "backends/cpu/ops/softmax_columns.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "backends/core/status.h"
#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/streaming_store.h"
#include "backends/cpu/ops/vector_math.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Columns of a task.
constexpr std::int64_t kChunk = 512;
// Rows narrower than this are taken together as one of about kChunk elements.
constexpr std::int64_t kNarrow = 64;
// With at least this many tasks the length is not cut.
constexpr std::int64_t kEnoughTasks = 64;
// Segments have at least this many elements.
constexpr std::int64_t kSegmentElements = 32 * 1024;
// Less is not worth a thread, in elements.
constexpr std::int64_t kElementsPerThread = 4 * 1024;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

constexpr std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// What a column's exponentials are relative to: its largest element, but 0 while that is minus
// infinity, so that infinity - infinity makes no NaN that a later element would turn to a number.
ACCELD_INLINE float ShiftFor(float largest) { return largest == kMinusInfinity ? 0 : largest; }

// The largest element of each column so far, and the sum of the exponentials relative to its shift.
struct Statistics {
  float* largest;
  double* sums;
};

// Takes in kRows rows. The next ones are fetched ahead.
template <std::int64_t kRows>
ACCELD_MULTIVERSION void TakeRows(const float* rows, std::int64_t pitch, std::int64_t width,
                                  float* largest, double* sums) {
  for (std::int64_t row = kRows; row < 2 * kRows; ++row) {
    for (std::int64_t i = 0; i < width; i += 16) {
      FetchLine(rows + row * pitch + i);
    }
  }
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < width; ++i) {
    float new_largest = largest[i];
    for (std::int64_t row = 0; row < kRows; ++row) {
      const float x = rows[row * pitch + i];
      new_largest = x > new_largest ? x : new_largest;
    }
    const float shift = ShiftFor(new_largest);
    float sum = 0;
    for (std::int64_t row = 0; row < kRows; ++row) sum += ExpUpTo0(rows[row * pitch + i] - shift);
    sums[i] =
        sums[i] * static_cast<double>(ExpUpTo0(largest[i] - shift)) + static_cast<double>(sum);
    largest[i] = new_largest;
  }
}

// Takes in any number of rows.
void TakeAllRows(const float* rows, std::int64_t count, std::int64_t pitch, std::int64_t width,
                 const Statistics& to) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    TakeRows<8>(rows + i * pitch, pitch, width, to.largest, to.sums);
  }
  for (; i + 2 <= count; i += 2) {
    TakeRows<2>(rows + i * pitch, pitch, width, to.largest, to.sums);
  }
  if (i < count) TakeRows<1>(rows + i * pitch, pitch, width, to.largest, to.sums);
}

// Takes in what others found of the same columns.
ACCELD_MULTIVERSION void Combine(const float* other_largest, const double* other_sums,
                                 std::int64_t width, float* largest, double* sums) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < width; ++i) {
    const float larger = other_largest[i] > largest[i] ? other_largest[i] : largest[i];
    const float shift = ShiftFor(larger);
    sums[i] = sums[i] * static_cast<double>(ExpUpTo0(largest[i] - shift)) +
              other_sums[i] * static_cast<double>(ExpUpTo0(other_largest[i] - shift));
    largest[i] = larger;
  }
}

class Softmax {
 public:
  Softmax(const float* x, float* y, const SoftmaxSizes& sizes)
      : x_(x),
        y_(y),
        sizes_(sizes),
        streamed_(x != y && IsStreamed(sizes.outer * sizes.length * sizes.inner)),
        chunks_(CeilDivide(sizes.inner, kChunk)),
        width_(CeilDivide(sizes.inner, chunks_)),
        group_(sizes.inner < kNarrow ? kChunk / sizes.inner : 1) {
    const std::int64_t most = std::max<std::int64_t>(1, kEnoughTasks / (sizes.outer * chunks_));
    segment_rows_ = std::max(kSegmentElements / width_, CeilDivide(sizes.length, most));
    segments_ = CeilDivide(sizes.length, segment_rows_);
  }

  absl::Status Run(CpuContext& context) {
    if (segments_ == 1) {
      ForEachTask(context.threads(), [this](const Task& task) {
        alignas(64) float largest[kChunk];
        alignas(64) double sums[kChunk];
        Measure(task, {largest, sums});
        Normalize(task, {largest, sums});
      });
      return absl::OkStatus();
    }
    ACCELD_RETURN_IF_ERROR(AllocateStatistics(context));
    ForEachTask(context.threads(), [this](const Task& task) {
      alignas(64) float largest[kChunk];
      alignas(64) double sums[kChunk];
      Measure(task, {largest, sums});
      const Statistics found = FoundBy(task);
      std::copy(largest, largest + task.width, found.largest);
      std::copy(sums, sums + task.width, found.sums);
    });
    ForEachTask(context.threads(), [this](const Task& task) {
      alignas(64) float largest[kChunk];
      alignas(64) double sums[kChunk];
      std::fill(largest, largest + task.width, kMinusInfinity);
      std::fill(sums, sums + task.width, 0.0);
      // Every task of the same columns does so alike: there are few.
      Task other = task;
      for (other.segment = 0; other.segment < segments_; ++other.segment) {
        const Statistics found = FoundBy(other);
        Combine(found.largest, found.sums, task.width, largest, sums);
      }
      Normalize(task, {largest, sums});
    });
    return absl::OkStatus();
  }

 private:
  struct Task {
    std::int64_t outer;
    std::int64_t segment;
    std::int64_t column;
    std::int64_t width;
    // The first element, and how many rows.
    std::int64_t first;
    std::int64_t rows;
  };

  template <typename Body>
  void ForEachTask(int threads, Body body) const {
    ParallelFor(threads, sizes_.outer * segments_ * chunks_,
                std::max<std::int64_t>(1, kElementsPerThread / (segment_rows_ * width_)),
                [&](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t i = begin; i < end; ++i) body(TaskOf(i));
                  FinishStreaming();
                });
  }

  Task TaskOf(std::int64_t index) const {
    Task task{};
    task.column = index % chunks_ * width_;
    task.width = std::min(width_, sizes_.inner - task.column);
    task.segment = index / chunks_ % segments_;
    task.outer = index / chunks_ / segments_;
    const std::int64_t first_row = task.segment * segment_rows_;
    task.first = (task.outer * sizes_.length + first_row) * sizes_.inner + task.column;
    task.rows = std::min(segment_rows_, sizes_.length - first_row);
    return task;
  }

  absl::Status AllocateStatistics(CpuContext& context) {
    const std::int64_t count = sizes_.outer * segments_ * sizes_.inner;
    ACCELD_ASSIGN_OR_RETURN(std::byte* const workspace,
                            context.Workspace(static_cast<std::uint64_t>(
                                count * std::int64_t{sizeof(double) + sizeof(float)})));
    found_.sums = reinterpret_cast<double*>(workspace);
    found_.largest = reinterpret_cast<float*>(found_.sums + count);
    return absl::OkStatus();
  }

  // Where what a task found is kept between the passes: [outer, segment, inner].
  Statistics FoundBy(const Task& task) const {
    const std::int64_t offset =
        (task.outer * segments_ + task.segment) * sizes_.inner + task.column;
    return {found_.largest + offset, found_.sums + offset};
  }

  void Measure(const Task& task, const Statistics& to) const {
    const std::int64_t wide = group_ * task.width;
    std::fill(to.largest, to.largest + wide, kMinusInfinity);
    std::fill(to.sums, to.sums + wide, 0.0);
    const float* rows = x_ + task.first;
    if (group_ == 1) return TakeAllRows(rows, task.rows, sizes_.inner, task.width, to);
    const std::int64_t rest = task.rows % group_;
    TakeAllRows(rows, task.rows / group_, wide, wide, to);
    TakeAllRows(rows + (task.rows - rest) * task.width, 1, 0, rest * task.width, to);
    for (std::int64_t group = group_; group > 1; group -= group / 2) {
      const std::int64_t kept = (group - group / 2) * task.width;
      Combine(to.largest + kept, to.sums + kept, group / 2 * task.width, to.largest, to.sums);
    }
  }

  void Normalize(const Task& task, const Statistics& of) const {
    const std::int64_t wide = group_ * task.width;
    alignas(64) float shifts[kChunk];
    alignas(64) float factors[kChunk];
    for (std::int64_t i = 0; i < wide; ++i) {
      shifts[i] = i < task.width ? ShiftFor(of.largest[i]) : shifts[i - task.width];
      // Of an empty sum, NaN.
      factors[i] = i < task.width ? static_cast<float>(1 / of.sums[i]) : factors[i - task.width];
    }
    const std::int64_t last = task.rows / group_ * group_;
    const std::int64_t pitch = group_ == 1 ? sizes_.inner : wide;
    const float* x = x_ + task.first;
    float* y = y_ + task.first;
    for (std::int64_t row = 0; row < last; row += group_, x += pitch, y += pitch) {
      NormalizeRow(x, shifts, factors, y, wide);
    }
    NormalizeRow(x, shifts, factors, y, (task.rows - last) * task.width);
  }

  void NormalizeRow(const float* x, const float* shifts, const float* factors, float* y,
                    std::int64_t n) const {
    WriteElements(y, n, streamed_, [=](std::int64_t i) ACCELD_INLINE_LAMBDA {
      return ExpUpTo0(x[i] - shifts[i]) * factors[i];
    });
  }

  const float* const x_;
  float* const y_;
  const SoftmaxSizes sizes_;
  const bool streamed_;
  const std::int64_t chunks_;
  // Columns of a chunk; the last may have fewer.
  const std::int64_t width_;
  // How many rows are taken as one; 1 where there are several chunks.
  const std::int64_t group_;
  std::int64_t segment_rows_ = 0;
  std::int64_t segments_ = 0;
  Statistics found_{};
};

}  // namespace

absl::Status SoftmaxColumns(const float* x, float* y, const SoftmaxSizes& sizes,
                            CpuContext& context) {
  return Softmax(x, y, sizes).Run(context);
}

}  // namespace acceld::cpu
