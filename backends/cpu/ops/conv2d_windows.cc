#include "backends/cpu/ops/conv2d_windows.h"

#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Less is not worth a thread.
constexpr std::int64_t kGrainElements = 16 * 1024;

}  // namespace

void CopyWindow(const float* plane, const Window& rows, const Window& columns, float* target) {
  std::fill_n(target, rows.count * columns.count, 0.0F);
  const std::int64_t begin = columns.begin();
  const std::int64_t end = columns.end();
  for (std::int64_t y = rows.begin(); y < rows.end(); ++y) {
    const float* const source = plane + rows.At(y) * columns.size;
    float* const row = target + y * columns.count;
    if (columns.stride == 1) {
      CopyShortRow(source + columns.At(begin), end - begin, row + begin);
    } else {
      for (std::int64_t x = begin; x < end; ++x) row[x] = source[columns.At(x)];
    }
  }
}

void SplitInput::Copy(const float* image, float* target, int threads) const {
  const std::int64_t grain = std::max<std::int64_t>(1, kGrainElements / channel());
  ParallelFor(threads, channels, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) CopyChannel(image, c, target + c * channel());
  });
}

void SplitInput::CopyChannel(const float* image, std::int64_t c, float* target) const {
  for (std::int64_t i = 0; i < y.phases(); ++i) {
    for (std::int64_t j = 0; j < x.phases(); ++j) {
      CopyWindow(image + c * y.input * x.input, y.InputOf(i), x.InputOf(j), target);
      target += height() * width();
    }
  }
}

void PaddedGradient::Copy(const float* image, std::int64_t filters, float* target,
                          int threads) const {
  const std::int64_t grain = std::max<std::int64_t>(1, kGrainElements / plane());
  ParallelFor(threads, filters, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      CopyWindow(image + k * y.output * x.output, rows, columns, target + k * plane());
    }
  });
}

}  // namespace acceld::cpu
