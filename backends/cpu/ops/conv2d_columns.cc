#include "backends/cpu/ops/conv2d_columns.h"

#include <algorithm>
#include <cstdint>

#include "backends/core/status.h"
#include "backends/cpu/ops/row_major_product.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Of a tile, so that it stays in the second-level cache.
constexpr std::int64_t kTileElements = 192 * 1024;
// Fewer columns make the product's rows short.
constexpr std::int64_t kMinTileColumns = 256;
// Less is not worth a thread, in elements.
constexpr std::int64_t kGrainElements = 16 * 1024;

// A range of indices.
struct Range {
  std::int64_t begin;
  std::int64_t end;

  std::int64_t size() const { return end - begin; }
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

  // The output positions that read the input with filter position `f`.
  Range OutputsOf(std::int64_t f) const {
    const std::int64_t before = padding - f;            // o * stride >= before
    const std::int64_t last = input - 1 + padding - f;  // o * stride <= last
    const std::int64_t begin = before <= 0 ? 0 : (before + stride - 1) / stride;
    return {std::min(output, begin), last < 0 ? 0 : std::min(output, last / stride + 1)};
  }
};

// The columns of one image, [weights, places]: a row for each weight of a filter, channels first,
// and a column for each place of the output.
class Columns {
 public:
  explicit Columns(const Conv2dShape& shape)
      : channels_(shape.filter[1]), y_axis_(shape, 0), x_axis_(shape, 1) {}

  std::int64_t weights() const { return channels_ * y_axis_.filter * x_axis_.filter; }
  std::int64_t places() const { return y_axis_.output * x_axis_.output; }

  // Copies the columns' part of these rows and columns out of `image` into `tile`.
  void Gather(const float* image, Range rows, Range columns, float* tile, int threads) const {
    const std::int64_t grain = std::max<std::int64_t>(1, kGrainElements / columns.size());
    ParallelFor(threads, rows.size(), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        float* target = tile + row * columns.size();
        ForEachSegment(rows.begin + row, columns, [&](std::int64_t input, Segment segment) {
          std::fill_n(target, segment.before, 0.0F);
          target += segment.before;
          for (std::int64_t i = 0; i < segment.inside; ++i) {
            target[i] = image[input + i * x_axis_.stride];
          }
          target += segment.inside;
          std::fill_n(target, segment.after, 0.0F);
          target += segment.after;
        });
      }
    });
  }

  // Adds `tile` to what it was gathered from. Channels are apart, and so are their threads.
  void ScatterAdd(const float* tile, Range rows, Range columns, float* image, int threads) const {
    const std::int64_t plane = y_axis_.filter * x_axis_.filter;
    const std::int64_t first = rows.begin / plane;
    const std::int64_t count = (rows.end - 1) / plane - first + 1;
    const std::int64_t grain = std::max<std::int64_t>(1, kGrainElements / columns.size() / plane);
    ParallelFor(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
      const Range mine{std::max(rows.begin, (first + begin) * plane),
                       std::min(rows.end, (first + end) * plane)};
      for (std::int64_t row = mine.begin; row < mine.end; ++row) {
        const float* source = tile + (row - rows.begin) * columns.size();
        ForEachSegment(row, columns, [&](std::int64_t input, Segment segment) {
          source += segment.before;
          for (std::int64_t i = 0; i < segment.inside; ++i) {
            image[input + i * x_axis_.stride] += source[i];
          }
          source += segment.inside + segment.after;
        });
      }
    });
  }

 private:
  // The elements of a row that belong to one row of the output: outside the input on its left,
  // inside, and outside on its right.
  struct Segment {
    std::int64_t before;
    std::int64_t inside;
    std::int64_t after;
  };

  // Calls body(input, segment) for each row of the output within `columns`, of which the first may
  // begin and the last end within a row, with the position of the first input inside.
  template <typename Body>
  void ForEachSegment(std::int64_t row, Range columns, Body body) const {
    const std::int64_t j = row % x_axis_.filter;
    const std::int64_t i = row / x_axis_.filter % y_axis_.filter;
    const std::int64_t channel = row / x_axis_.filter / y_axis_.filter;
    const Range valid_y = y_axis_.OutputsOf(i);
    const Range valid_x = x_axis_.OutputsOf(j);
    for (std::int64_t place = columns.begin; place < columns.end;) {
      const std::int64_t y = place / x_axis_.output;
      const std::int64_t begin = place % x_axis_.output;
      const std::int64_t end = std::min(x_axis_.output, begin + columns.end - place);
      place += end - begin;
      const bool outside = y < valid_y.begin || y >= valid_y.end;
      const std::int64_t first = outside ? end : std::clamp(valid_x.begin, begin, end);
      const std::int64_t last = std::clamp(valid_x.end, first, end);
      const std::int64_t input =
          last == first ? 0
                        : (channel * y_axis_.input + y_axis_.InputAt(y, i)) * x_axis_.input +
                              x_axis_.InputAt(first, j);
      body(input, Segment{first - begin, last - first, end - last});
    }
  }

  std::int64_t channels_;
  Axis y_axis_;
  Axis x_axis_;
};

// One image and one tile of its columns.
struct Tile {
  float* input;
  float* output;
  Range rows;
  Range columns;
  float* data;
  // Nothing has been added to the filter's gradient yet.
  bool is_first_of_columns;
};

absl::Status ConvolveTile(const Conv2d& convolution, const Columns& columns, const Tile& tile,
                          int threads) {
  const std::int64_t filters = convolution.shape.filter[0];
  float* const filter = convolution.filter + tile.rows.begin;
  float* const output = tile.output + tile.columns.begin;
  switch (convolution.direction) {
    case Conv2dDirection::kForward:
      columns.Gather(tile.input, tile.rows, tile.columns, tile.data, threads);
      return Multiply({.m = filters,
                       .n = tile.columns.size(),
                       .k = tile.rows.size(),
                       .a = filter,
                       .lda = columns.weights(),
                       .b = tile.data,
                       .ldb = tile.columns.size(),
                       .beta = tile.rows.begin == 0 ? 0.0F : 1.0F,
                       .c = output,
                       .ldc = columns.places()});
    case Conv2dDirection::kBackwardData:
      ACCELD_RETURN_IF_ERROR(Multiply({.transpose_a = Transpose::kTranspose,
                                       .m = tile.rows.size(),
                                       .n = tile.columns.size(),
                                       .k = filters,
                                       .a = filter,
                                       .lda = columns.weights(),
                                       .b = output,
                                       .ldb = columns.places(),
                                       .c = tile.data,
                                       .ldc = tile.columns.size()}));
      columns.ScatterAdd(tile.data, tile.rows, tile.columns, tile.input, threads);
      return absl::OkStatus();
    case Conv2dDirection::kBackwardFilter:
      columns.Gather(tile.input, tile.rows, tile.columns, tile.data, threads);
      return Multiply({.transpose_b = Transpose::kTranspose,
                       .m = filters,
                       .n = tile.rows.size(),
                       .k = tile.columns.size(),
                       .a = output,
                       .lda = columns.places(),
                       .b = tile.data,
                       .ldb = tile.columns.size(),
                       .beta = tile.is_first_of_columns ? 0.0F : 1.0F,
                       .c = filter,
                       .ldc = columns.weights()});
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ConvolveColumns(const Conv2d& convolution, CpuContext& context) {
  const Conv2dShape& shape = convolution.shape;
  const Columns columns(shape);
  const std::int64_t width =
      std::min(columns.places(), std::max(kMinTileColumns, kTileElements / columns.weights()));
  const std::int64_t height = std::min(columns.weights(), kTileElements / width);
  ACCELD_ASSIGN_OR_RETURN(
      std::byte* const workspace,
      context.Workspace(static_cast<std::uint64_t>(width * height) * sizeof(float)));
  for (std::int64_t n = 0; n < shape.input[0]; ++n) {
    Tile tile{.input = convolution.input + n * (ElementCount(shape.input) / shape.input[0]),
              .output = convolution.output + n * (ElementCount(shape.output) / shape.output[0]),
              .rows = {},
              .columns = {},
              .data = reinterpret_cast<float*>(workspace),
              .is_first_of_columns = false};
    if (convolution.direction == Conv2dDirection::kBackwardData) {
      std::fill_n(tile.input, ElementCount(shape.input) / shape.input[0], 0.0F);
    }
    for (std::int64_t place = 0; place < columns.places(); place += width) {
      tile.columns = {place, std::min(columns.places(), place + width)};
      tile.is_first_of_columns = n == 0 && place == 0;
      for (std::int64_t weight = 0; weight < columns.weights(); weight += height) {
        tile.rows = {weight, std::min(columns.weights(), weight + height)};
        ACCELD_RETURN_IF_ERROR(ConvolveTile(convolution, columns, tile, context.threads()));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace acceld::cpu
