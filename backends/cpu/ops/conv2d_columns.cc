#include "backends/cpu/ops/conv2d_columns.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/core/status.h"
#include "backends/cpu/ops/conv2d_axis.h"
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
// Nor, where a thread computes rows of the input's gradient by itself, in operations. Threads with
// adjacent rows both compute the columns that reach into both; so many times the filter's rows keep
// that small.
constexpr double kGrainFlops = 1024 * 1024;
constexpr std::int64_t kRowsPerFilterRow = 8;

// A range of indices.
struct Range {
  std::int64_t begin;
  std::int64_t end;

  std::int64_t size() const { return end - begin; }
};

// An axis, and which of its positions belong together.
struct Axis : Conv2dAxis {
  using Conv2dAxis::Conv2dAxis;

  std::int64_t InputAt(std::int64_t o, std::int64_t f) const { return o * stride + f - padding; }

  Range whole_input() const { return {0, input}; }

  // The output positions that read one of `inputs` with filter position `f`.
  Range OutputsOf(std::int64_t f, Range inputs) const { return OutputsOf(f, f, inputs); }

  // The output positions that read one of `inputs` with any filter position.
  Range OutputsOf(Range inputs) const { return OutputsOf(0, filter - 1, inputs); }

 private:
  Range OutputsOf(std::int64_t first_f, std::int64_t last_f, Range inputs) const {
    const std::int64_t before = inputs.begin + padding - last_f;   // o * stride >= before
    const std::int64_t last = inputs.end - 1 + padding - first_f;  // o * stride <= last
    const std::int64_t begin = before <= 0 ? 0 : (before + stride - 1) / stride;
    return {std::min(output, begin), last < 0 ? 0 : std::min(output, last / stride + 1)};
  }
};

void CopyStrided(const float* from, std::int64_t stride, std::int64_t count, float* to) {
  if (stride == 1) {
    std::copy_n(from, count, to);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  }
}

// A loop for each frequent stride, which the compiler then knows.
void AddStrided(const float* more, std::int64_t count, float* sums, std::int64_t stride) {
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) sums[i] += more[i];
  } else if (stride == 2) {
    for (std::int64_t i = 0; i < count; ++i) sums[2 * i] += more[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) sums[i * stride] += more[i];
  }
}

// The columns of one image, [weights, places]: a row for each weight of a filter, channels first,
// and a column for each place of the output.
class Columns {
 public:
  explicit Columns(const Conv2dShape& shape)
      : channels_(shape.filter[1]), y_axis_(shape, 0), x_axis_(shape, 1) {}

  std::int64_t weights() const { return channels_ * y_axis_.filter * x_axis_.filter; }
  std::int64_t places() const { return y_axis_.output * x_axis_.output; }

  // The columns that read one of the input's rows `input_rows`, and maybe some that do not.
  Range PlacesOf(Range input_rows) const {
    const Range rows = y_axis_.OutputsOf(input_rows);
    return {rows.begin * x_axis_.output, rows.end * x_axis_.output};
  }

  // Copies the columns' part of these rows and columns out of `image` into `tile`.
  void Gather(const float* image, Range rows, Range columns, float* tile, int threads) const {
    const std::int64_t grain = std::max<std::int64_t>(1, kGrainElements / columns.size());
    ParallelFor(threads, rows.size(), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        float* target = tile + row * columns.size();
        const auto gather = [&](std::int64_t input, Segment segment) {
          std::fill_n(target, segment.before, 0.0F);
          target += segment.before;
          CopyStrided(image + input, x_axis_.stride, segment.inside, target);
          target += segment.inside;
          std::fill_n(target, segment.after, 0.0F);
          target += segment.after;
        };
        ForEachSegment(rows.begin + row, columns, y_axis_.whole_input(), gather);
      }
    });
  }

  // Adds `tile` to what it was gathered from, within the input's rows `input_rows`. Channels are
  // apart, and so are their threads.
  void ScatterAdd(const float* tile, Range rows, Range columns, Range input_rows, float* image,
                  int threads) const {
    const std::int64_t plane = y_axis_.filter * x_axis_.filter;
    const std::int64_t first = rows.begin / plane;
    const std::int64_t count = (rows.end - 1) / plane - first + 1;
    const std::int64_t grain = std::max<std::int64_t>(1, kGrainElements / columns.size() / plane);
    ParallelFor(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
      const Range mine{std::max(rows.begin, (first + begin) * plane),
                       std::min(rows.end, (first + end) * plane)};
      for (std::int64_t row = mine.begin; row < mine.end; ++row) {
        const float* source = tile + (row - rows.begin) * columns.size();
        ForEachSegment(row, columns, input_rows, [&](std::int64_t input, Segment segment) {
          source += segment.before;
          AddStrided(source, segment.inside, image + input, x_axis_.stride);
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
  // begin and the last end within a row, with the position of the first input inside. What is not
  // in the input's rows `input_rows` counts as outside.
  template <typename Body>
  void ForEachSegment(std::int64_t row, Range columns, Range input_rows, Body body) const {
    const std::int64_t j = row % x_axis_.filter;
    const std::int64_t i = row / x_axis_.filter % y_axis_.filter;
    const std::int64_t channel = row / x_axis_.filter / y_axis_.filter;
    const Range valid_y = y_axis_.OutputsOf(i, input_rows);
    const Range valid_x = x_axis_.OutputsOf(j, x_axis_.whole_input());
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

// One image, or some rows of its input, and one tile of its columns.
struct Tile {
  float* input;
  float* output;
  Range input_rows;
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
      columns.ScatterAdd(tile.data, tile.rows, tile.columns, tile.input_rows, tile.input, threads);
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

// How much of the columns a tile is.
struct TileSize {
  explicit TileSize(const Columns& columns)
      : width(std::min(columns.places(),
                       std::max(kMinTileColumns, kTileElements / columns.weights()))),
        height(std::min(columns.weights(), kTileElements / width)) {}

  std::int64_t elements() const { return width * height; }

  std::int64_t width;
  std::int64_t height;
};

// One image's columns `places`, a tile in `data` after another.
absl::Status ConvolvePlaces(const Conv2d& convolution, const Columns& columns, std::int64_t image,
                            Range input_rows, Range places, float* data, int threads) {
  const Conv2dShape& shape = convolution.shape;
  const TileSize size(columns);
  Tile tile{.input = convolution.input + image * (ElementCount(shape.input) / shape.input[0]),
            .output = convolution.output + image * (ElementCount(shape.output) / shape.output[0]),
            .input_rows = input_rows,
            .rows = {},
            .columns = {},
            .data = data,
            .is_first_of_columns = false};
  for (std::int64_t place = places.begin; place < places.end; place += size.width) {
    tile.columns = {place, std::min(places.end, place + size.width)};
    tile.is_first_of_columns = image == 0 && place == 0;
    for (std::int64_t weight = 0; weight < columns.weights(); weight += size.height) {
      tile.rows = {weight, std::min(columns.weights(), weight + size.height)};
      ACCELD_RETURN_IF_ERROR(ConvolveTile(convolution, columns, tile, threads));
    }
  }
  return absl::OkStatus();
}

// The input's gradient at `rows`, which count through all images.
absl::Status ComputeInputRows(const Conv2d& convolution, const Columns& columns, Range rows,
                              float* data, int threads) {
  const auto& [images, channels, height, width] = convolution.shape.input;
  for (std::int64_t image = rows.begin / height; image * height < rows.end; ++image) {
    const Range mine{std::max<std::int64_t>(0, rows.begin - image * height),
                     std::min(height, rows.end - image * height)};
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      float* const plane = convolution.input + (image * channels + channel) * height * width;
      std::fill_n(plane + mine.begin * width, mine.size() * width, 0.0F);
    }
    ACCELD_RETURN_IF_ERROR(
        ConvolvePlaces(convolution, columns, image, mine, columns.PlacesOf(mine), data, threads));
  }
  return absl::OkStatus();
}

// Into how many parts the rows of all images are split, each a thread's; 1 where the threads rather
// share each tile.
int PartsOfInput(const Conv2dShape& shape, std::int64_t tile_bytes, int threads) {
  const std::int64_t rows = shape.input[0] * shape.input[2];
  const double parts =
      std::min({static_cast<double>(threads),
                static_cast<double>(static_cast<std::int64_t>(kKeptWorkspaceBytes) / tile_bytes),
                static_cast<double>(rows / (kRowsPerFilterRow * shape.filter[2])),
                shape.Flops() / kGrainFlops});
  return std::max(1, static_cast<int>(parts));
}

absl::Status ComputeInput(const Conv2d& convolution, const Columns& columns, CpuContext& context) {
  const Conv2dShape& shape = convolution.shape;
  const std::int64_t rows = shape.input[0] * shape.input[2];
  const std::int64_t tile_elements = TileSize(columns).elements();
  const std::int64_t tile_bytes = tile_elements * std::int64_t{sizeof(float)};
  const int parts = PartsOfInput(shape, tile_bytes, context.threads());
  ACCELD_ASSIGN_OR_RETURN(float* const data, context.Elements<float>(parts * tile_elements));
  if (parts == 1) {
    return ComputeInputRows(convolution, columns, {0, rows}, data, context.threads());
  }
  return TryParallelFor(parts, parts, 1, [&](std::int64_t begin, std::int64_t end) {
    const ScopedOpenMpThreads openmp(1);
    for (std::int64_t part = begin; part < end; ++part) {
      const Range mine{rows * part / parts, rows * (part + 1) / parts};
      ACCELD_RETURN_IF_ERROR(
          ComputeInputRows(convolution, columns, mine, data + part * tile_elements, 1));
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status ConvolveColumns(const Conv2d& convolution, CpuContext& context) {
  const Conv2dShape& shape = convolution.shape;
  const Columns columns(shape);
  if (convolution.direction == Conv2dDirection::kBackwardData) {
    return ComputeInput(convolution, columns, context);
  }
  ACCELD_ASSIGN_OR_RETURN(float* const data, context.Elements<float>(TileSize(columns).elements()));
  for (std::int64_t image = 0; image < shape.input[0]; ++image) {
    ACCELD_RETURN_IF_ERROR(ConvolvePlaces(convolution, columns, image, {0, shape.input[2]},
                                          {0, columns.places()}, data, context.threads()));
  }
  return absl::OkStatus();
}

}  // namespace acceld::cpu
