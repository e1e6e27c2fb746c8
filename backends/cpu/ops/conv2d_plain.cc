#include "backends/cpu/ops/conv2d_plain.h"

#include <algorithm>
#include <cstdint>

#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// A range of indices.
struct Range {
  std::int64_t begin;
  std::int64_t end;
};

// One spatial axis, vertical or horizontal. Output position o reads input position
// o * stride + f - padding at filter position f, if that is inside the input.
struct Axis {
  std::int64_t input;
  std::int64_t filter;
  std::int64_t output;
  std::int64_t stride;
  std::int64_t padding;

  Axis(const Conv2dShape& shape, std::size_t i)
      : input(shape.input[2 + i]),
        filter(shape.filter[2 + i]),
        output(shape.output[2 + i]),
        stride(shape.stride[i]),
        padding(shape.padding[i]) {}

  std::int64_t InputAt(std::int64_t o, std::int64_t f) const { return o * stride + f - padding; }

  // The filter positions with which output position `o` reads the input.
  Range FiltersOf(std::int64_t o) const {
    const std::int64_t first = padding - o * stride;
    return {std::max<std::int64_t>(0, first), std::min(filter, first + input)};
  }

  // The output positions that read the input with filter position `f`.
  Range OutputsOf(std::int64_t f) const {
    const std::int64_t before = padding - f;            // o * stride >= before
    const std::int64_t last = input - 1 + padding - f;  // o * stride <= last
    return {before <= 0 ? 0 : (before + stride - 1) / stride,
            last < 0 ? 0 : std::min(output, last / stride + 1)};
  }

  // The filter positions that use input position `in` are every stride-th of this range: those that
  // give output position (in + padding - f) / stride.
  Range FiltersReading(std::int64_t in) const {
    const std::int64_t shifted = in + padding;
    const std::int64_t last_output = std::min(output - 1, shifted / stride);
    return {shifted - last_output * stride, std::min(filter, shifted + 1)};
  }
};

// Calls body(plane) for each of `count` planes, which are independent.
template <typename Body>
void ForEachPlane(const CpuContext& context, std::int64_t count, Body body) {
  ParallelFor(context.threads(), count, /*grain=*/1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) body(plane);
  });
}

}  // namespace

void PlainForward(const Conv2dShape& shape, const float* input, const float* filter, float* output,
                  const CpuContext& context) {
  const std::int64_t channels = shape.input[1];
  const std::int64_t filters = shape.filter[0];
  const Axis y_axis(shape, 0);
  const Axis x_axis(shape, 1);
  const std::int64_t output_plane = y_axis.output * x_axis.output;
  ForEachPlane(context, shape.input[0] * filters, [&](std::int64_t plane) {
    const float* images = input + plane / filters * channels * y_axis.input * x_axis.input;
    const float* weights = filter + plane % filters * channels * y_axis.filter * x_axis.filter;
    for (std::int64_t o = 0; o < output_plane; ++o) {
      const std::int64_t y = o / x_axis.output;
      const std::int64_t x = o % x_axis.output;
      const Range rows = y_axis.FiltersOf(y);
      const Range columns = x_axis.FiltersOf(x);
      double sum = 0;
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t i = rows.begin; i < rows.end; ++i) {
          const float* image = images + (c * y_axis.input + y_axis.InputAt(y, i)) * x_axis.input;
          const float* weight = weights + (c * y_axis.filter + i) * x_axis.filter;
          for (std::int64_t j = columns.begin; j < columns.end; ++j) {
            sum += static_cast<double>(image[x_axis.InputAt(x, j)]) * weight[j];
          }
        }
      }
      output[plane * output_plane + o] = static_cast<float>(sum);
    }
  });
}

void PlainBackwardData(const Conv2dShape& shape, const float* filter, const float* output_gradient,
                       float* input_gradient, const CpuContext& context) {
  const std::int64_t channels = shape.input[1];
  const std::int64_t filters = shape.filter[0];
  const Axis y_axis(shape, 0);
  const Axis x_axis(shape, 1);
  const std::int64_t input_plane = y_axis.input * x_axis.input;
  ForEachPlane(context, shape.input[0] * channels, [&](std::int64_t plane) {
    const std::int64_t channel = plane % channels;
    const float* gradients =
        output_gradient + plane / channels * filters * y_axis.output * x_axis.output;
    for (std::int64_t in = 0; in < input_plane; ++in) {
      const std::int64_t h = in / x_axis.input + y_axis.padding;
      const std::int64_t w = in % x_axis.input + x_axis.padding;
      const Range rows = y_axis.FiltersReading(in / x_axis.input);
      const Range columns = x_axis.FiltersReading(in % x_axis.input);
      double sum = 0;
      for (std::int64_t k = 0; k < filters; ++k) {
        for (std::int64_t i = rows.begin; i < rows.end; i += y_axis.stride) {
          const float* gradient =
              gradients + (k * y_axis.output + (h - i) / y_axis.stride) * x_axis.output;
          const float* weight =
              filter + ((k * channels + channel) * y_axis.filter + i) * x_axis.filter;
          for (std::int64_t j = columns.begin; j < columns.end; j += x_axis.stride) {
            sum += static_cast<double>(gradient[(w - j) / x_axis.stride]) * weight[j];
          }
        }
      }
      input_gradient[plane * input_plane + in] = static_cast<float>(sum);
    }
  });
}

void PlainBackwardFilter(const Conv2dShape& shape, const float* input, const float* output_gradient,
                         float* filter_gradient, const CpuContext& context) {
  const std::int64_t batch = shape.input[0];
  const std::int64_t channels = shape.input[1];
  const std::int64_t filters = shape.filter[0];
  const Axis y_axis(shape, 0);
  const Axis x_axis(shape, 1);
  const std::int64_t filter_plane = y_axis.filter * x_axis.filter;
  ForEachPlane(context, filters * channels, [&](std::int64_t plane) {
    const std::int64_t k = plane / channels;
    const std::int64_t channel = plane % channels;
    for (std::int64_t f = 0; f < filter_plane; ++f) {
      const std::int64_t i = f / x_axis.filter;
      const std::int64_t j = f % x_axis.filter;
      const Range rows = y_axis.OutputsOf(i);
      const Range columns = x_axis.OutputsOf(j);
      double sum = 0;
      for (std::int64_t n = 0; n < batch; ++n) {
        for (std::int64_t y = rows.begin; y < rows.end; ++y) {
          const float* image =
              input +
              ((n * channels + channel) * y_axis.input + y_axis.InputAt(y, i)) * x_axis.input;
          const float* gradient =
              output_gradient + ((n * filters + k) * y_axis.output + y) * x_axis.output;
          for (std::int64_t x = columns.begin; x < columns.end; ++x) {
            sum += static_cast<double>(gradient[x]) * image[x_axis.InputAt(x, j)];
          }
        }
      }
      filter_gradient[plane * filter_plane + f] = static_cast<float>(sum);
    }
  });
}

}  // namespace acceld::cpu
