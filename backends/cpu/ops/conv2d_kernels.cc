// With the arrays that are read as conv2d_windows.h copies them, a convolution is a product of
// matrices whose columns overlap (small_kernels.h); what it computes between the rows' ends is
// dropped.
#include "backends/cpu/ops/conv2d_kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "backends/core/status.h"
#include "backends/cpu/ops/conv2d_windows.h"
#include "backends/cpu/ops/small_kernels.h"
#include "backends/cpu/ops/transpose.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Of each plane a kernel computes so many places at a time, so that they stay in the first caches.
constexpr std::int64_t kPlacesOfPart = 512;
// What a kernel computes at once of the filter's gradient at one place.
constexpr std::int64_t kChannelsOfPart = 48;
// Less is not worth a thread, in operations and in elements.
constexpr double kGrainFlops = 256 * 1024;
constexpr std::int64_t kGrainElements = 16 * 1024;

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t RoundUpToLanes(std::int64_t count) {
  const std::int64_t lanes = KernelLanes<float>();
  return CeilDivide(count, lanes) * lanes;
}

// Places in rows of `pitch`, one row behind the other.
struct Places {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t pitch;

  // From the first to the last one.
  std::int64_t span() const { return rows == 0 ? 0 : (rows - 1) * pitch + columns; }
  // What a kernel computes of them.
  std::int64_t kernel_rows() const { return std::max(span(), KernelLanes<float>()); }
};

// Where places belong: in every `row_step`-th row and `column_step`-th column of planes.
struct Target {
  float* data;
  std::int64_t plane;
  std::int64_t width;
  std::int64_t row_step;
  std::int64_t column_step;
};

// Copies `places` of each of `planes` from where a kernel left them, `ld` apart.
void CopyPlaces(const float* source, std::int64_t ld, const Places& places, std::int64_t planes,
                const Target& target) {
  for (std::int64_t k = 0; k < planes; ++k) {
    for (std::int64_t y = 0; y < places.rows; ++y) {
      const float* const from = source + k * ld + y * places.pitch;
      float* const to = target.data + k * target.plane + y * target.row_step * target.width;
      if (target.column_step == 1) {
        CopyShortRow(from, places.columns, to);
      } else {
        for (std::int64_t x = 0; x < places.columns; ++x) to[x * target.column_step] = from[x];
      }
    }
  }
}

// Kernels that write `places` of each of kernel.n planes, in parts of some rows.
struct PlacesJob {
  KernelProduct<float> kernel;
  Places places;
  Target target;

  // At most.
  std::int64_t rows_of_part() const {
    return std::clamp<std::int64_t>(kPlacesOfPart / places.pitch, 1, places.rows);
  }
  std::int64_t parts() const { return CeilDivide(places.rows, rows_of_part()); }
  // Of results on their way to the target.
  std::int64_t workspace() const {
    const Places part{rows_of_part(), places.columns, places.pitch};
    return kernel.n * part.kernel_rows();
  }

  // How far the last part's kernel, whose rows may be less than a vector, reads on behind them.
  std::int64_t slack() const {
    const Places last{places.rows - (parts() - 1) * rows_of_part(), places.columns, places.pitch};
    return last.kernel_rows() - last.span();
  }

  // Puts the places of part `i` where the target says: at once where they lie there as the kernel
  // writes them, else by way of `results`.
  void Run(std::int64_t i, float* results) const {
    const std::int64_t first = i * rows_of_part();
    Places part = places;
    part.rows = std::min(rows_of_part(), places.rows - first);
    Target to = target;
    to.data += first * target.row_step * target.width;
    KernelProduct<float> product = kernel;
    product.a += first * places.pitch;
    product.m = part.kernel_rows();
    const bool is_direct = target.row_step == 1 && target.column_step == 1 &&
                           part.pitch == target.width && part.columns == target.width &&
                           product.m == part.span();
    product.c = is_direct ? to.data : results;
    product.ldc = is_direct ? target.plane : product.m;
    RunKernel(product);
    if (!is_direct) CopyPlaces(results, product.ldc, part, product.n, to);
  }
};

// Calls body(lane, part) for `parts` parts of a convolution, each lane in one thread, in up to
// `threads` lanes.
template <typename Body>
void ForEachPart(std::int64_t parts, int threads, Body body) {
  ParallelFor(threads, threads, /*grain=*/1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t lane = begin; lane < end; ++lane) {
      for (std::int64_t i = parts * lane / threads; i < parts * (lane + 1) / threads; ++i) {
        body(lane, i);
      }
    }
  });
}

// How many threads the parts that are computed at a time, `parts` of all, are worth.
int ThreadsFor(const Conv2dShape& shape, std::int64_t parts, const CpuContext& context) {
  const double grains = shape.Flops() / static_cast<double>(parts) / kGrainFlops;
  return static_cast<int>(std::clamp(grains, 1.0, static_cast<double>(context.threads())));
}

absl::Status ComputeOutput(const Conv2d& convolution, CpuContext& context) {
  const Conv2dShape& shape = convolution.shape;
  const auto& [filters, channels, height, width] = shape.filter;
  const std::int64_t images = shape.input[0];
  const std::int64_t weights = channels * height * width;
  const SplitInput split(shape);
  const std::int64_t output_plane = split.y.output * split.x.output;
  const int threads = ThreadsFor(shape, images, context);
  ACCELD_ASSIGN_OR_RETURN(std::int64_t* const a_columns, context.Elements<std::int64_t>(weights));
  ACCELD_ASSIGN_OR_RETURN(std::int64_t* const b_rows, context.Elements<std::int64_t>(weights));
  std::iota(b_rows, b_rows + weights, 0);
  split.PutOffsets(weights, a_columns);
  PlacesJob job{
      .kernel = {.m = 0,
                 .n = filters,
                 .k = weights,
                 .alpha = 1,
                 .a = nullptr,
                 .a_columns = a_columns,
                 .b = convolution.filter,
                 .b_rows = b_rows,
                 .b_step = weights,
                 .beta = 0,
                 .c = nullptr,
                 .ldc = 0},
      .places = {.rows = split.y.output, .columns = split.x.output, .pitch = split.width()},
      .target = {.data = convolution.output,
                 .plane = output_plane,
                 .width = split.x.output,
                 .row_step = 1,
                 .column_step = 1}};
  const std::int64_t slack = job.slack();
  const bool is_plain = split.IsWhole() && slack == 0;
  float* copy = nullptr;
  if (!is_plain) {
    ACCELD_ASSIGN_OR_RETURN(copy, context.Elements<float>(split.size() + slack));
    std::fill_n(copy + split.size(), slack, 0.0F);
  }
  const std::int64_t room = job.workspace();
  ACCELD_ASSIGN_OR_RETURN(float* const results, context.Elements<float>(threads * room));
  for (std::int64_t n = 0; n < images; ++n) {
    const float* const image = convolution.input + n * channels * split.y.input * split.x.input;
    if (!is_plain) split.Copy(image, copy, threads);
    job.kernel.a = is_plain ? image : copy;
    ForEachPart(job.parts(), threads, [&](std::int64_t lane, std::int64_t part) {
      job.Run(part, results + lane * room);
    });
    job.target.data += filters * output_plane;
  }
  return absl::OkStatus();
}

// Every stride-th element of the input along an axis: those that the same of the filter's elements,
// `phase` and every stride-th from there on, contribute to.
struct InputPhase {
  std::int64_t first;
  std::int64_t count;
  std::int64_t phase;
  std::int64_t taps;
  // Of its first element in the window of the output's gradient, at the filter's element `phase`.
  std::int64_t offset;

  InputPhase(const SplitAxis& axis, std::int64_t first)
      : first(first),
        count((axis.input - 1 - first) / axis.stride + 1),
        phase((first + axis.padding) % axis.stride),
        taps(phase >= axis.filter ? 0 : (axis.filter - 1 - phase) / axis.stride + 1),
        offset((first + axis.padding) / axis.stride - axis.OutputGradient().offset) {}
};

// The phases that any of the filter's elements contribute to.
std::vector<InputPhase> InputPhases(const SplitAxis& axis) {
  std::vector<InputPhase> phases;
  for (std::int64_t first = 0; first < std::min(axis.stride, axis.input); ++first) {
    const InputPhase phase(axis, first);
    if (phase.taps > 0) phases.push_back(phase);
  }
  return phases;
}

// What computes each phase of the first image's input gradient out of its padded gradient. The
// kernels' offsets, an a_columns and a b_rows for each weight of a channel, go to `offsets`.
std::vector<PlacesJob> InputGradientJobs(const Conv2d& convolution, const PaddedGradient& gradient,
                                         std::int64_t* offsets) {
  const auto& [filters, channels, height, width] = convolution.shape.filter;
  std::vector<PlacesJob> jobs;
  for (const InputPhase& y : InputPhases(gradient.y)) {
    for (const InputPhase& x : InputPhases(gradient.x)) {
      const std::int64_t taps = filters * y.taps * x.taps;
      std::int64_t* const a_columns = offsets;
      std::int64_t* const b_rows = offsets + taps;
      offsets += 2 * taps;
      const std::int64_t taps_of_filter = y.taps * x.taps;
      for (std::int64_t i = 0; i < y.taps; ++i) {
        for (std::int64_t j = 0; j < x.taps; ++j) {
          a_columns[i * x.taps + j] = (y.offset - i) * gradient.columns.count + x.offset - j;
          b_rows[i * x.taps + j] =
              (y.phase + i * gradient.y.stride) * width + x.phase + j * gradient.x.stride;
        }
      }
      for (std::int64_t l = taps_of_filter; l < taps; ++l) {
        a_columns[l] = a_columns[l - taps_of_filter] + gradient.plane();
        b_rows[l] = b_rows[l - taps_of_filter] + channels * height * width;
      }
      jobs.push_back(
          {.kernel = {.m = 0,
                      .n = channels,
                      .k = taps,
                      .alpha = 1,
                      .a = nullptr,
                      .a_columns = a_columns,
                      .b = convolution.filter,
                      .b_rows = b_rows,
                      .b_step = height * width,
                      .beta = 0,
                      .c = nullptr,
                      .ldc = 0},
           .places = {.rows = y.count, .columns = x.count, .pitch = gradient.columns.count},
           .target = {.data = convolution.input + y.first * gradient.x.input + x.first,
                      .plane = gradient.y.input * gradient.x.input,
                      .width = gradient.x.input,
                      .row_step = gradient.y.stride,
                      .column_step = gradient.x.stride}});
    }
  }
  return jobs;
}

absl::Status ComputeInputGradient(const Conv2d& convolution, CpuContext& context) {
  const Conv2dShape& shape = convolution.shape;
  const std::int64_t images = shape.input[0];
  const std::int64_t filters = shape.filter[0];
  const std::int64_t channels = shape.filter[1];
  const PaddedGradient gradient(shape);
  const std::int64_t padded = filters * gradient.plane();
  const std::int64_t lanes = KernelLanes<float>();
  ACCELD_ASSIGN_OR_RETURN(
      std::int64_t* const offsets,
      context.Elements<std::int64_t>(2 * ElementCount(shape.filter) / channels));
  std::vector<PlacesJob> jobs = InputGradientJobs(convolution, gradient, offsets);
  const bool is_plain = gradient.IsWhole() && jobs.front().slack() == 0;
  std::int64_t room = 0;
  for (const PlacesJob& job : jobs) room = std::max(room, job.workspace());
  const int threads = ThreadsFor(shape, images * static_cast<std::int64_t>(jobs.size()), context);
  ACCELD_ASSIGN_OR_RETURN(float* const results, context.Elements<float>(threads * room));
  float* copy = nullptr;
  if (!is_plain) {
    // A phase shorter than a vector reads on behind its gradient.
    ACCELD_ASSIGN_OR_RETURN(copy, context.Elements<float>(padded + lanes));
    std::fill_n(copy + padded, lanes, 0.0F);
  }
  if (gradient.y.stride > gradient.y.filter || gradient.x.stride > gradient.x.filter) {
    std::fill_n(convolution.input, ElementCount(shape.input), 0.0F);
  }
  for (std::int64_t n = 0; n < images; ++n) {
    const float* const image =
        convolution.output + n * filters * gradient.y.output * gradient.x.output;
    if (!is_plain) gradient.Copy(image, filters, copy, threads);
    for (PlacesJob& job : jobs) {
      job.kernel.a = is_plain ? image : copy;
      ForEachPart(job.parts(), threads, [&](std::int64_t lane, std::int64_t part) {
        job.Run(part, results + lane * room);
      });
      job.target.data += channels * job.target.plane;
    }
  }
  return absl::OkStatus();
}

// Of one image, [filters, places] to [places, padded filters], the padding zeros.
void TransposeGradient(const float* image, std::int64_t filters, std::int64_t places,
                       std::int64_t padded_filters, float* target, int threads) {
  const std::int64_t grain = std::max<std::int64_t>(1, kGrainElements / padded_filters);
  ParallelFor(threads, places, grain, [&](std::int64_t begin, std::int64_t end) {
    TransposeMatrix(image + begin, filters, end - begin, places, target + begin * padded_filters,
                    padded_filters);
    for (std::int64_t k = filters; k < padded_filters; ++k) {
      for (std::int64_t place = begin; place < end; ++place) {
        target[place * padded_filters + k] = 0;
      }
    }
  });
}

// The filters are the vectors here, since a place between the rows' ends must not be summed up. A
// part is some channels at one place of the filter.
absl::Status ComputeFilterGradient(const Conv2d& convolution, CpuContext& context) {
  const Conv2dShape& shape = convolution.shape;
  const auto& [filters, channels, height, width] = shape.filter;
  const std::int64_t images = shape.input[0];
  const SplitInput split(shape);
  const bool is_plain = split.IsWhole();
  const std::int64_t places = split.y.output * split.x.output;
  const std::int64_t padded_filters = RoundUpToLanes(filters);
  const int threads = ThreadsFor(shape, images, context);
  ACCELD_ASSIGN_OR_RETURN(std::int64_t* const a_columns, context.Elements<std::int64_t>(places));
  ACCELD_ASSIGN_OR_RETURN(std::int64_t* const b_rows, context.Elements<std::int64_t>(places));
  for (std::int64_t l = 0; l < places; ++l) a_columns[l] = l * padded_filters;
  for (std::int64_t y = 0; y < split.y.output; ++y) {
    std::int64_t* const row = b_rows + y * split.x.output;
    std::iota(row, row + split.x.output, y * split.width());
  }
  ACCELD_ASSIGN_OR_RETURN(float* const gradient, context.Elements<float>(places * padded_filters));
  float* copy = nullptr;
  if (!is_plain) {
    ACCELD_ASSIGN_OR_RETURN(copy, context.Elements<float>(split.size()));
  }
  // [channels, height, width, padded filters]
  ACCELD_ASSIGN_OR_RETURN(float* const sums,
                          context.Elements<float>(height * width * channels * padded_filters));
  const std::int64_t taps = height * width;
  const std::int64_t blocks = CeilDivide(channels, kChannelsOfPart);
  for (std::int64_t n = 0; n < images; ++n) {
    const float* const image = convolution.input + n * channels * split.y.input * split.x.input;
    if (!is_plain) split.Copy(image, copy, threads);
    TransposeGradient(convolution.output + n * filters * places, filters, places, padded_filters,
                      gradient, threads);
    ForEachPart(taps * blocks, threads, [&](std::int64_t /*lane*/, std::int64_t part) {
      const std::int64_t tap = part / blocks;
      const std::int64_t first = channels * (part % blocks) / blocks;
      const std::int64_t last = channels * (part % blocks + 1) / blocks;
      RunKernel<float>({.m = padded_filters,
                        .n = last - first,
                        .k = places,
                        .alpha = 1,
                        .a = gradient,
                        .a_columns = a_columns,
                        .b = (is_plain ? image : copy) + first * split.channel() +
                             split.OffsetOf(tap / width, tap % width),
                        .b_rows = b_rows,
                        .b_step = split.channel(),
                        .beta = n == 0 ? 0.0F : 1.0F,
                        .c = sums + (first * taps + tap) * padded_filters,
                        .ldc = taps * padded_filters});
    });
  }
  TransposeMatrix(sums, channels * taps, filters, padded_filters, convolution.filter,
                  channels * taps);
  return absl::OkStatus();
}

}  // namespace

bool FillsKernels(Conv2dDirection direction, const Conv2dShape& shape) {
  const std::int64_t half = KernelLanes<float>() / 2;
  switch (direction) {
    case Conv2dDirection::kForward:
      return shape.output[2] * shape.output[3] >= half;
    case Conv2dDirection::kBackwardData:
      return InputPhase(SplitAxis(shape, 0), 0).count * InputPhase(SplitAxis(shape, 1), 0).count >=
             half;
    case Conv2dDirection::kBackwardFilter:
      return shape.filter[0] >= half;
  }
  return false;
}

absl::Status ConvolveByKernels(const Conv2d& convolution, CpuContext& context) {
  switch (convolution.direction) {
    case Conv2dDirection::kForward:
      return ComputeOutput(convolution, context);
    case Conv2dDirection::kBackwardData:
      return ComputeInputGradient(convolution, context);
    case Conv2dDirection::kBackwardFilter:
      break;
  }
  return ComputeFilterGradient(convolution, context);
}

}  // namespace acceld::cpu
