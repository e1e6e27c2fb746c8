#include "backends/cpu/ops/conv2d_few_filters.h"

#include <algorithm>
#include <cstdint>

#include "backends/core/status.h"
#include "backends/cpu/ops/few_filters_stripe.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Of the rows that are padded at a time, so that they stay in the second-level cache.
constexpr std::int64_t kStripeBytes = 512 * 1024;
// At least so many times a filter's rows, where that is not too much.
constexpr std::int64_t kMinStripeRows = 4;
constexpr std::int64_t kMaxStripeBytes = 8 * 1024 * 1024;
// Less is not worth a thread.
constexpr std::int64_t kGrainFlops = 256 * 1024;

// Of a row of the input, so that whole vectors of output can read it at any column of the filter.
std::int64_t PaddedWidth(const Conv2dShape& shape) {
  return RoundUpToStripeLanes(shape.output[3]) + shape.filter[3] - 1;
}

// Of one row of all channels.
std::int64_t RowBytes(const Conv2dShape& shape) {
  return shape.input[1] * PaddedWidth(shape) * std::int64_t{sizeof(float)};
}

// How many rows of the input `rows` rows of the output read.
std::int64_t InputRows(const Conv2dShape& shape, std::int64_t rows) {
  return (rows - 1) * shape.stride[0] + shape.filter[2];
}

bool IsForward(const Conv2d& convolution) {
  return convolution.direction == Conv2dDirection::kForward;
}

// `gradient` is where the filter's gradient is summed up.
void ConvolveStripe(const Conv2d& convolution, const Stripe& stripe, std::int64_t image,
                    float* gradient, int threads) {
  const Conv2dShape& shape = stripe.shape;
  PadInput(stripe, convolution.input + image * (ElementCount(shape.input) / shape.input[0]),
           threads);
  float* const output = convolution.output + image * (ElementCount(shape.output) / shape.output[0]);
  const bool forward = IsForward(convolution);
  if (!forward) PadOutput(stripe, output, threads);
  const std::int64_t parts = forward ? stripe.rows : shape.filter[1] * shape.filter[2];
  const std::int64_t flops = 2 * stripe.rows * stripe.columns() * ElementCount(shape.filter);
  const std::int64_t grain =
      std::clamp<std::int64_t>(parts * kGrainFlops / std::max<std::int64_t>(1, flops), 1, parts);
  ParallelFor(threads, parts, grain, [&](std::int64_t begin, std::int64_t end) {
    if (forward) {
      ForwardRows(stripe, convolution.filter, begin, end, output);
    } else {
      AddGradientsOfRows(stripe, begin, end, gradient);
    }
  });
}

// Rows `begin` to `end` of the output, which count through all images, `most` at a time.
void ConvolveRows(const Conv2d& convolution, Stripe stripe, std::int64_t most, std::int64_t begin,
                  std::int64_t end, float* gradient, int threads) {
  const std::int64_t height = stripe.shape.output[2];
  for (std::int64_t row = begin; row < end; row += stripe.rows) {
    stripe.first = row % height;
    stripe.rows = std::min({most, height - stripe.first, end - row});
    stripe.input_rows = InputRows(stripe.shape, stripe.rows);
    ConvolveStripe(convolution, stripe, row / height, gradient, threads);
  }
}

// Into how many parts the rows are split, and what a part takes, in elements.
struct Layout {
  Layout(const Conv2d& convolution, const CpuContext& context) {
    const Conv2dShape& shape = convolution.shape;
    // What is read for two stripes is little beside what a stripe has for itself.
    rows = std::min(
        shape.output[2],
        std::max(kMinStripeRows * shape.filter[2],
                 (kStripeBytes / RowBytes(shape) - shape.filter[2]) / shape.stride[0] + 1));
    input = RoundUpToStripeLanes(InputRows(shape, rows) * RowBytes(shape) /
                                 std::int64_t{sizeof(float)});
    if (!IsForward(convolution)) {
      output = shape.filter[0] * rows * RoundUpToStripeLanes(shape.output[3]);
      gradient = RoundUpToStripeLanes(ElementCount(shape.filter));
    }
    const std::int64_t threads = context.threads();
    const std::int64_t bytes = threads * (input + output + gradient) * std::int64_t{sizeof(float)};
    if (shape.input[0] * shape.output[2] >= threads * kMinStripeRows * shape.filter[2] &&
        shape.Flops() >= static_cast<double>(threads * kGrainFlops) &&
        bytes <= static_cast<std::int64_t>(context.kept_bytes_left())) {
      parts = threads;
    }
  }

  // The most of a stripe.
  std::int64_t rows;
  // Of its copies, and of a sum of the filter's gradient, which all parts but the first have.
  std::int64_t input;
  std::int64_t output = 0;
  std::int64_t gradient = 0;
  // One a thread, which then waits for no other; or one, whose stripes the threads share.
  std::int64_t parts = 1;
};

}  // namespace

bool HasFewFilters(const Conv2dShape& shape) {
  const std::int64_t rows = std::min(shape.output[2], kMinStripeRows * shape.filter[2]);
  return shape.filter[0] < kFewFilters && shape.stride[1] == 1 &&
         RowBytes(shape) <= kMaxStripeBytes / InputRows(shape, rows);
}

absl::Status ConvolveFewFilters(const Conv2d& convolution, CpuContext& context) {
  const Conv2dShape& shape = convolution.shape;
  const Layout layout(convolution, context);
  ACCELD_ASSIGN_OR_RETURN(float* const inputs,
                          context.Elements<float>(layout.parts * layout.input));
  ACCELD_ASSIGN_OR_RETURN(float* const outputs,
                          context.Elements<float>(layout.parts * layout.output));
  ACCELD_ASSIGN_OR_RETURN(float* const gradients,
                          context.Elements<float>((layout.parts - 1) * layout.gradient));
  const std::int64_t weights = IsForward(convolution) ? 0 : ElementCount(shape.filter);
  const auto gradient_of = [&](std::int64_t part) {
    return part == 0 ? convolution.filter : gradients + (part - 1) * layout.gradient;
  };
  const std::int64_t rows = shape.input[0] * shape.output[2];
  const int threads_of_part = layout.parts == 1 ? context.threads() : 1;
  ParallelFor(
      static_cast<int>(layout.parts), layout.parts, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t part = begin; part < end; ++part) {
          Stripe stripe{.shape = shape};
          stripe.width = PaddedWidth(shape);
          stripe.input = inputs + part * layout.input;
          stripe.output = outputs + part * layout.output;
          std::fill_n(gradient_of(part), weights, 0.0F);
          ConvolveRows(convolution, stripe, layout.rows, rows * part / layout.parts,
                       rows * (part + 1) / layout.parts, gradient_of(part), threads_of_part);
        }
      });
  for (std::int64_t part = 1; part < layout.parts; ++part) {
    const float* const more = gradient_of(part);
    for (std::int64_t i = 0; i < weights; ++i) convolution.filter[i] += more[i];
  }
  return absl::OkStatus();
}

}  // namespace acceld::cpu
