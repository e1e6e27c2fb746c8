#include "backends/cpu/ops/few_filters_stripe.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/multiversion.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

using Lanes = float __attribute__((vector_size(64)));
using LaneMask = int __attribute__((vector_size(64)));
constexpr std::int64_t kLanes = kStripeLanes;

// Less is not worth a thread, in elements that are copied.
constexpr std::int64_t kGrainElements = 32 * 1024;
// After so many products a lane's sum is added to those before, so that it keeps its digits.
constexpr std::int64_t kProductsPerSum = 512;
constexpr std::int64_t kColumnsPerSum = kProductsPerSum * kLanes;

// Of any alignment.
ACCELD_INLINE void Load(const float* source, Lanes& lanes) {
  std::memcpy(&lanes, source, sizeof(lanes));
}

void PadInputRow(const Stripe& stripe, const float* source, float* target) {
  const std::int64_t begin = std::min(stripe.shape.padding[1], stripe.width);
  const std::int64_t end = std::min(begin + stripe.shape.input[3], stripe.width);
  std::fill(target, target + begin, 0.0F);
  std::copy_n(source, end - begin, target + begin);
  std::fill(target + end, target + stripe.width, 0.0F);
}

// A part of a filter.
struct FilterPart {
  std::int64_t channel;
  std::int64_t last_channel;
  std::int64_t row;
  std::int64_t last_row;
  std::int64_t column;
  std::int64_t last_column;
};

// `kFilters` x `kVectors` vectors of the output, from column `x` of a row of the stripe on, as far
// as a part of the filter contributes to them.
template <int kFilters, int kVectors>
ACCELD_INLINE void SumPart(const Stripe& stripe, const float* filter, const FilterPart& part,
                           std::int64_t row, std::int64_t x, Lanes result[kFilters][kVectors]) {
  const auto& [filters, channels, height, width] = stripe.shape.filter;
  // Registers, since nothing else names them.
  Lanes sums[kFilters][kVectors];
  for (int k = 0; k < kFilters; ++k) {
    for (int v = 0; v < kVectors; ++v) sums[k][v] = Lanes{};
  }
  for (std::int64_t c = part.channel; c < part.last_channel; ++c) {
    for (std::int64_t i = part.row; i < part.last_row; ++i) {
      const float* const source = stripe.InputRow(c, row, i) + x;
      const float* const weights = filter + (c * height + i) * width;
      for (std::int64_t j = part.column; j < part.last_column; ++j) {
        for (int v = 0; v < kVectors; ++v) {
          Lanes inputs;
          Load(source + j + v * kLanes, inputs);
          for (int k = 0; k < kFilters; ++k) {
            sums[k][v] += weights[k * channels * height * width + j] * inputs;
          }
        }
      }
    }
  }
  for (int k = 0; k < kFilters; ++k) {
    for (int v = 0; v < kVectors; ++v) result[k][v] = sums[k][v];
  }
}

// All of them.
template <int kFilters, int kVectors>
ACCELD_INLINE void ForwardColumns(const Stripe& stripe, const float* filter, std::int64_t row,
                                  std::int64_t x, Lanes totals[kFilters][kVectors]) {
  const auto& [filters, channels, height, width] = stripe.shape.filter;
  if (channels * height * width <= kProductsPerSum) {
    SumPart<kFilters, kVectors>(stripe, filter, {0, channels, 0, height, 0, width}, row, x, totals);
    return;
  }
  // Whole planes of the filter, else whole rows of one.
  const std::int64_t columns_of_part = std::min(width, kProductsPerSum);
  const std::int64_t rows_of_part = std::min(height, kProductsPerSum / columns_of_part);
  const std::int64_t channels_of_part =
      std::max<std::int64_t>(1, kProductsPerSum / (height * width));
  for (int k = 0; k < kFilters; ++k) {
    for (int v = 0; v < kVectors; ++v) totals[k][v] = Lanes{};
  }
  for (std::int64_t c = 0; c < channels; c += channels_of_part) {
    for (std::int64_t i = 0; i < height; i += rows_of_part) {
      for (std::int64_t j = 0; j < width; j += columns_of_part) {
        const FilterPart part{c, std::min(c + channels_of_part, channels),
                              i, std::min(i + rows_of_part, height),
                              j, std::min(j + columns_of_part, width)};
        Lanes sums[kFilters][kVectors];
        SumPart<kFilters, kVectors>(stripe, filter, part, row, x, sums);
        for (int k = 0; k < kFilters; ++k) {
          for (int v = 0; v < kVectors; ++v) totals[k][v] += sums[k][v];
        }
      }
    }
  }
}

template <int kFilters>
ACCELD_INLINE void ForwardRow(const Stripe& stripe, const float* filter, std::int64_t row,
                              float* output) {
  constexpr int kVectors = 4;
  const std::int64_t plane = stripe.shape.output[2] * stripe.columns();
  std::int64_t x = 0;
  for (; x + kVectors * kLanes <= stripe.columns(); x += kVectors * kLanes) {
    Lanes sums[kFilters][kVectors];
    ForwardColumns<kFilters, kVectors>(stripe, filter, row, x, sums);
    for (int k = 0; k < kFilters; ++k)
      std::memcpy(output + k * plane + x, sums[k], sizeof(sums[k]));
  }
  for (; x < stripe.columns(); x += kLanes) {
    Lanes sums[kFilters][1];
    ForwardColumns<kFilters, 1>(stripe, filter, row, x, sums);
    const std::int64_t count = std::min(kLanes, stripe.columns() - x);
    for (int k = 0; k < kFilters; ++k) {
      std::memcpy(output + k * plane + x, sums[k], static_cast<std::size_t>(count) * sizeof(float));
    }
  }
}

// Adds the products of one vector of outputs each and of the inputs they read at kColumns columns
// of the filter. `stride` is the distance of two filters' outputs. Inputs at which `is_read` is 0
// count as 0, also where they are NaN.
template <int kFilters, int kColumns>
ACCELD_INLINE void AddProducts(const float* input, const float* output, std::int64_t stride,
                               const LaneMask* is_read, Lanes sums[kFilters][kColumns]) {
  for (int l = 0; l < kColumns; ++l) {
    Lanes inputs;
    Load(input + l, inputs);
    if (is_read != nullptr) inputs = *is_read ? inputs : Lanes{};
    for (int k = 0; k < kFilters; ++k) {
      Lanes gradients;
      Load(output + k * stride, gradients);
      sums[k][l] += gradients * inputs;
    }
  }
}

// Adds the stripe's products to the gradients of `kFilters` filters from `filter` on, at `kColumns`
// columns of the filter from `j` on.
template <int kFilters, int kColumns>
ACCELD_INLINE void AddGradients(const Stripe& stripe, std::int64_t filter, std::int64_t channel,
                                std::int64_t i, std::int64_t j, float* gradient) {
  const auto& [filters, channels, height, width] = stripe.shape.filter;
  const std::int64_t padded = RoundUpToStripeLanes(stripe.columns());
  const std::int64_t stride = stripe.rows * padded;
  LaneMask is_read;
  for (int lane = 0; lane < kLanes; ++lane) {
    is_read[lane] = lane < stripe.columns() % kLanes ? -1 : 0;
  }
  const std::int64_t rows_of_sum = std::max<std::int64_t>(1, kColumnsPerSum / padded);
  Lanes totals[kFilters][kColumns] = {};
  for (std::int64_t first = 0; first < stripe.rows; first += rows_of_sum) {
    for (std::int64_t begin = 0; begin < stripe.columns(); begin += kColumnsPerSum) {
      const std::int64_t end = std::min(stripe.columns(), begin + kColumnsPerSum);
      Lanes sums[kFilters][kColumns] = {};
      for (std::int64_t row = first; row < std::min(stripe.rows, first + rows_of_sum); ++row) {
        const float* const input = stripe.InputRow(channel, row, i) + j;
        const float* const output = stripe.output + (filter * stripe.rows + row) * padded;
        std::int64_t x = begin;
        for (; x + kLanes <= end; x += kLanes) {
          AddProducts<kFilters, kColumns>(input + x, output + x, stride, nullptr, sums);
        }
        if (x < end) {
          AddProducts<kFilters, kColumns>(input + x, output + x, stride, &is_read, sums);
        }
      }
      for (int k = 0; k < kFilters; ++k) {
        for (int l = 0; l < kColumns; ++l) totals[k][l] += sums[k][l];
      }
    }
  }
  for (int k = 0; k < kFilters; ++k) {
    for (int l = 0; l < kColumns; ++l) {
      float sum = 0;
      for (int lane = 0; lane < kLanes; ++lane) sum += totals[k][l][lane];
      gradient[(((filter + k) * channels + channel) * height + i) * width + j + l] += sum;
    }
  }
}

template <int kFilters>
ACCELD_INLINE void AddGradientsOfRow(const Stripe& stripe, std::int64_t filter,
                                     std::int64_t channel, std::int64_t i, float* gradient) {
  std::int64_t j = 0;
  for (; j + 4 <= stripe.shape.filter[3]; j += 4) {
    AddGradients<kFilters, 4>(stripe, filter, channel, i, j, gradient);
  }
  switch (stripe.shape.filter[3] - j) {
    case 3:
      return AddGradients<kFilters, 3>(stripe, filter, channel, i, j, gradient);
    case 2:
      return AddGradients<kFilters, 2>(stripe, filter, channel, i, j, gradient);
    case 1:
      return AddGradients<kFilters, 1>(stripe, filter, channel, i, j, gradient);
    default:
      return;
  }
}

}  // namespace

void PadInput(const Stripe& stripe, const float* image, int threads) {
  const std::int64_t height = stripe.shape.input[2];
  const std::int64_t first = stripe.first * stripe.shape.stride[0] - stripe.shape.padding[0];
  const std::int64_t grain = std::max<std::int64_t>(1, kGrainElements / stripe.width);
  ParallelFor(threads, stripe.shape.input[1] * stripe.input_rows, grain,
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) {
                  const std::int64_t y = first + i % stripe.input_rows;
                  float* const target = stripe.input + i * stripe.width;
                  if (y < 0 || y >= height) {
                    std::fill_n(target, stripe.width, 0.0F);
                  } else {
                    const std::int64_t row = i / stripe.input_rows * height + y;
                    PadInputRow(stripe, image + row * stripe.shape.input[3], target);
                  }
                }
              });
}

void PadOutput(const Stripe& stripe, const float* image, int threads) {
  const std::int64_t columns = stripe.columns();
  const std::int64_t padded = RoundUpToStripeLanes(columns);
  const std::int64_t grain = std::max<std::int64_t>(1, kGrainElements / padded);
  ParallelFor(threads, stripe.shape.filter[0] * stripe.rows, grain,
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) {
                  const std::int64_t row =
                      i / stripe.rows * stripe.shape.output[2] + stripe.first + i % stripe.rows;
                  float* const target = stripe.output + i * padded;
                  std::copy_n(image + row * columns, columns, target);
                  std::fill(target + columns, target + padded, 0.0F);
                }
              });
}

ACCELD_MULTIVERSION void ForwardRows(const Stripe& stripe, const float* filter, std::int64_t begin,
                                     std::int64_t end, float* output) {
  const std::int64_t filters = stripe.shape.filter[0];
  const std::int64_t weights = ElementCount(stripe.shape.filter) / filters;
  for (std::int64_t row = begin; row < end; ++row) {
    float* const target = output + (stripe.first + row) * stripe.columns();
    for (std::int64_t k = 0; k < filters; k += 4) {
      const float* const from = filter + k * weights;
      float* const to = target + k * stripe.shape.output[2] * stripe.columns();
      switch (filters - k) {
        case 1:
          ForwardRow<1>(stripe, from, row, to);
          break;
        case 2:
          ForwardRow<2>(stripe, from, row, to);
          break;
        case 3:
          ForwardRow<3>(stripe, from, row, to);
          break;
        default:
          ForwardRow<4>(stripe, from, row, to);
      }
    }
  }
}

ACCELD_MULTIVERSION void AddGradientsOfRows(const Stripe& stripe, std::int64_t begin,
                                            std::int64_t end, float* gradient) {
  const std::int64_t filters = stripe.shape.filter[0];
  const std::int64_t height = stripe.shape.filter[2];
  for (std::int64_t row = begin; row < end; ++row) {
    std::int64_t k = 0;
    for (; k + 2 <= filters; k += 2) {
      AddGradientsOfRow<2>(stripe, k, row / height, row % height, gradient);
    }
    if (k < filters) AddGradientsOfRow<1>(stripe, k, row / height, row % height, gradient);
  }
}

}  // namespace acceld::cpu
