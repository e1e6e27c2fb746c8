#include "backends/cpu/ops/conv2d.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "backends/core/status.h"
#include "backends/cpu/ops/conv2d_columns.h"
#include "backends/cpu/ops/conv2d_few_filters.h"
#include "backends/cpu/ops/conv2d_kernels.h"
#include "backends/cpu/ops/conv2d_product.h"
#include "backends/cpu/ops/image_groups.h"
#include "backends/cpu/ops/onednn.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/work_size.h"

namespace acceld::cpu {
namespace {

// From so many places on, a product an image beats reordering images for oneDNN.
constexpr std::int64_t kPlacesOfProduct = 128;

// Up to so many, oneDNN computes a filter's gradient faster with channels last than in blocks.
constexpr std::int64_t kPlacesOfChannelsLast = 256;

// oneDNN's kernels for the input's gradient take filters up to so wide.
constexpr std::int64_t kWideFilter = 14;

// With so many rows of each of the stride's phases own kernels keep several threads busy.
constexpr std::int64_t kRowsOfKernels = 16;

// Of a filter that is read through; less is not worth a thread.
constexpr std::int64_t kElementsPerThread = 64 * 1024;

// The same convolution, in the form that is computed best: an image one column wide is stored as
// one a row high, and no stride is longer than it need be.
Conv2dShape Normalized(Conv2dShape shape) {
  if (shape.input[3] == 1 && shape.filter[3] == 1 && shape.padding[1] == 0) {
    std::swap(shape.input[2], shape.input[3]);
    std::swap(shape.filter[2], shape.filter[3]);
    std::swap(shape.output[2], shape.output[3]);
    std::swap(shape.stride[0], shape.stride[1]);
    std::swap(shape.padding[0], shape.padding[1]);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    // Of all strides that leave one output the shortest.
    shape.stride[i] = std::min(shape.stride[i],
                               shape.input[2 + i] + 2 * shape.padding[i] - shape.filter[2 + i] + 1);
  }
  return shape;
}

// Whether oneDNN's blocked kernels read the input as it is: three channels or fewer.
bool HasImageChannels(const Conv2dShape& shape) {
  return shape.filter[1] <= kMaxImageChannels && shape.filter[0] % 16 == 0;
}

// Whether the input's gradient can be computed as a forward convolution of the output's gradient.
bool TurnsForward(const Conv2dShape& shape) {
  constexpr std::array<std::int64_t, 2> kEachPlace{1, 1};
  return shape.stride == kEachPlace && shape.padding[0] < shape.filter[2] &&
         shape.padding[1] < shape.filter[3];
}

// Whether oneDNN has little to fill its vectors with for a gradient.
bool IsNarrow(const Conv2dShape& shape) { return shape.filter[0] < 16 && shape.filter[1] < 32; }

enum class Algorithm {
  kWholeImages,
  kKernels,
  kPointwise,
  kColumns,
  kFewFilters,
  kTurnedForward,
  kOneDnnBlocked,
  kOneDnnChannelsLast,
};

Algorithm ChooseForward(const Conv2dShape& shape, bool whole_blocks) {
  if (HasFewFilters(shape)) return Algorithm::kFewFilters;
  if (!FitsKeptWorkspace(shape)) return Algorithm::kColumns;
  return whole_blocks || HasImageChannels(shape) ? Algorithm::kOneDnnBlocked
                                                 : Algorithm::kOneDnnChannelsLast;
}

Algorithm ChooseBackwardData(const Conv2dShape& shape, bool whole_blocks) {
  const bool few_filters = std::max(shape.filter[0], shape.filter[1]) < kFewFilters;
  if (few_filters && TurnsForward(shape)) return Algorithm::kTurnedForward;
  // Of others the turned filter, too, would be too large.
  if (!FitsKeptWorkspace(shape)) return Algorithm::kColumns;
  if (shape.filter[3] > kWideFilter && TurnsForward(shape)) return Algorithm::kTurnedForward;
  // Kernels share out rows.
  if (IsNarrow(shape) && shape.input[2] / shape.stride[0] >= kRowsOfKernels) {
    return Algorithm::kKernels;
  }
  const bool few_channels = shape.filter[1] < kFewFilters && shape.filter[0] >= kFewFilters;
  if (few_channels) return Algorithm::kColumns;
  return whole_blocks ? Algorithm::kOneDnnBlocked : Algorithm::kOneDnnChannelsLast;
}

Algorithm ChooseBackwardFilter(const Conv2dShape& shape, bool whole_blocks) {
  if (HasFewFilters(shape)) return Algorithm::kFewFilters;
  if (!FitsKeptWorkspace(shape)) return Algorithm::kColumns;
  if (IsNarrow(shape)) return Algorithm::kColumns;
  const bool channels_last =
      !IsPointwise(shape) && shape.input[2] * shape.input[3] <= kPlacesOfChannelsLast;
  return (whole_blocks && !channels_last) || HasImageChannels(shape)
             ? Algorithm::kOneDnnBlocked
             : Algorithm::kOneDnnChannelsLast;
}

// Whether one image is not worth the reorder of its filter, or gradient, in any case. But for the
// filter's gradient, one thread computes it fast enough that it is.
bool IsBetterPlain(Conv2dDirection direction, const Conv2dShape& shape, int threads) {
  return shape.input[0] == 1 && (direction == Conv2dDirection::kBackwardFilter || threads > 1);
}

// Depends on the shape and the threads only, so that the same call gives the same bits. Measured
// with oneDNN 2.6 on a processor with AVX-512, reorders included.
Algorithm Choose(Conv2dDirection direction, const Conv2dShape& shape, int threads) {
  if (CoversImage(shape)) return Algorithm::kWholeImages;
  const bool is_small = shape.Flops() <= kSmallFlops;
  if (is_small && FillsKernels(direction, shape)) return Algorithm::kKernels;
  if (IsPointwise(shape) && (shape.input[2] * shape.input[3] >= kPlacesOfProduct ||
                             IsBetterPlain(direction, shape, threads))) {
    return Algorithm::kPointwise;
  }
  if (is_small) {
    return direction != Conv2dDirection::kBackwardData && HasFewFilters(shape)
               ? Algorithm::kFewFilters
               : Algorithm::kColumns;
  }
  if (!OneDnnTakes(shape)) return Algorithm::kColumns;
  const bool whole_blocks = shape.filter[1] % 16 == 0 && shape.filter[0] % 16 == 0;
  switch (direction) {
    case Conv2dDirection::kForward:
      return ChooseForward(shape, whole_blocks);
    case Conv2dDirection::kBackwardData:
      return ChooseBackwardData(shape, whole_blocks);
    case Conv2dDirection::kBackwardFilter:
      return ChooseBackwardFilter(shape, whole_blocks);
  }
  return Algorithm::kColumns;
}

// `gradient`'s input as the output of a forward convolution with the filter turned by half a turn
// and its channels and filters exchanged.
absl::Status ConvolveTurnedForward(const Conv2d& gradient, CpuContext& context) {
  const auto [filters, channels, height, width] = gradient.shape.filter;
  const std::int64_t plane = height * width;
  ACCELD_ASSIGN_OR_RETURN(float* const turned, context.Elements<float>(filters * channels * plane));
  const std::int64_t grain = std::max<std::int64_t>(1, kElementsPerThread / plane);
  ParallelFor(context.threads(), filters * channels, grain,
              [&, filters = filters, channels = channels](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) {
                  const float* const source = gradient.filter + i * plane;
                  const std::int64_t target = i % channels * filters + i / channels;
                  std::reverse_copy(source, source + plane, turned + target * plane);
                }
              });
  const Conv2dShape shape{
      .input = gradient.shape.output,
      .filter = {channels, filters, height, width},
      .output = gradient.shape.input,
      .stride = {1, 1},
      .padding = {height - 1 - gradient.shape.padding[0], width - 1 - gradient.shape.padding[1]}};
  return Convolve({.direction = Conv2dDirection::kForward,
                   .shape = shape,
                   .input = gradient.output,
                   .filter = turned,
                   .output = gradient.input},
                  context);
}

// Whether `algorithm` multiplies weights by zeros around the output's gradient, which are no part
// of the sums and do not change them where the weights are finite.
bool PadsGradient(Conv2dDirection direction, Algorithm algorithm) {
  return direction == Conv2dDirection::kBackwardData &&
         (algorithm == Algorithm::kKernels || algorithm == Algorithm::kTurnedForward);
}

bool HasFiniteFilter(const Conv2d& convolution, int threads) {
  std::atomic<bool> all_finite = true;
  ParallelFor(threads, ElementCount(convolution.shape.filter), kElementsPerThread,
              [&](std::int64_t begin, std::int64_t end) {
                bool finite = true;
                for (std::int64_t i = begin; i < end; ++i) {
                  finite &= std::isfinite(convolution.filter[i]);
                }
                if (!finite) all_finite.store(false, std::memory_order_relaxed);
              });
  return all_finite.load(std::memory_order_relaxed);
}

}  // namespace

absl::Status Convolve(const Conv2d& convolution, CpuContext& context) {
  Conv2d normalized = convolution;
  normalized.shape = Normalized(convolution.shape);
  const Algorithm algorithm = Choose(convolution.direction, normalized.shape, context.threads());
  if (PadsGradient(convolution.direction, algorithm) &&
      !HasFiniteFilter(normalized, context.threads())) {
    return ConvolveColumns(normalized, context);
  }
  const auto by_onednn = [&](OneDnnLayout layout) {
    const absl::Status status = ConvolveInGroups(normalized, layout, context);
    return absl::IsUnimplemented(status) ? ConvolveColumns(normalized, context) : status;
  };
  switch (algorithm) {
    case Algorithm::kWholeImages:
      return ConvolveWholeImages(normalized);
    case Algorithm::kKernels:
      return ConvolveByKernels(normalized, context);
    case Algorithm::kPointwise:
      return ConvolvePointwise(normalized);
    case Algorithm::kFewFilters:
      return ConvolveFewFilters(normalized, context);
    case Algorithm::kTurnedForward:
      return ConvolveTurnedForward(normalized, context);
    case Algorithm::kOneDnnBlocked:
      return by_onednn(OneDnnLayout::kBlocked);
    case Algorithm::kOneDnnChannelsLast:
      return by_onednn(OneDnnLayout::kChannelsLast);
    case Algorithm::kColumns:
      break;
  }
  return ConvolveColumns(normalized, context);
}

}  // namespace acceld::cpu
