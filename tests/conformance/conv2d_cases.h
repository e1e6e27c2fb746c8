// Shapes on which the three convolution ops are tested, and the arguments they all refuse.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/ops/conv2d_shape.h"
#include "tests/conformance/random.h"

namespace acceld::conformance {

// Kernels of one element and of the whole padded input, strides that skip elements and that leave
// some unread at the edges, padding wider than the filter, uneven in both directions.
inline std::vector<Conv2dShape> Conv2dShapes() {
  return {
      Conv2dShape::For({1, 1, 1, 1}, {1, 1, 1, 1}),
      Conv2dShape::For({2, 3, 7, 9}, {4, 3, 3, 3}, {1, 1}, {1, 1}),
      Conv2dShape::For({1, 2, 8, 5}, {3, 2, 2, 4}),
      Conv2dShape::For({2, 3, 9, 8}, {5, 3, 3, 2}, {2, 3}, {1, 0}),
      Conv2dShape::For({3, 4, 6, 6}, {2, 4, 1, 1}, {2, 2}),
      Conv2dShape::For({2, 2, 4, 5}, {3, 2, 4, 5}),
      Conv2dShape::For({1, 2, 3, 3}, {2, 2, 5, 7}, {1, 1}, {1, 2}),
      Conv2dShape::For({1, 1, 4, 4}, {2, 1, 2, 2}, {1, 2}, {3, 5}),
      Conv2dShape::For({1, 2, 10, 11}, {2, 2, 3, 3}, {4, 5}),
      Conv2dShape::For({1, 3, 5, 2}, {2, 3, 1, 2}, {7, 9}),
      Conv2dShape::For({2, 17, 13, 11}, {19, 17, 3, 3}, {1, 1}, {1, 1}),
      Conv2dShape::For({1, 3, 28, 27}, {16, 3, 7, 7}, {2, 2}, {3, 3}),
      Conv2dShape::For({4, 16, 14, 14}, {32, 16, 3, 3}, {1, 1}, {1, 1}),
      Conv2dShape::For({2, 8, 12, 12}, {8, 8, 5, 5}, {1, 1}, {2, 2}),
  };
}

inline Conv2dShape RandomConv2dShape(Random& random) {
  for (;;) {
    const auto shape = Conv2dShape::For(
        {random.Integer(1, 3), random.Integer(1, 5), random.Integer(1, 12), random.Integer(1, 12)},
        {random.Integer(1, 5), 0, random.Integer(1, 5), random.Integer(1, 5)},
        {random.Integer(1, 3), random.Integer(1, 3)}, {random.Integer(0, 3), random.Integer(0, 3)});
    if (shape.output[2] == 0 || shape.output[3] == 0) continue;
    Conv2dShape valid = shape;
    valid.filter[1] = valid.input[1];
    return valid;
  }
}

// Sizes on which fast algorithms differ: whole blocks of channels, primes and single ones, images
// of one row or column, strides beyond the filter, padding beyond it. Small enough for the
// reference.
inline Conv2dShape RandomOddConv2dShape(Random& random) {
  constexpr std::int64_t kChannels[] = {1, 2, 3, 5, 7, 8, 13, 16, 17, 32, 37};
  constexpr std::int64_t kSizes[] = {1, 1, 2, 3, 7, 13, 16, 23, 31, 64};
  constexpr std::int64_t kFilterSizes[] = {1, 1, 2, 3, 3, 5, 7, 15};
  const auto pick = [&random](const auto& values) {
    return values[random.Integer(0, static_cast<std::int64_t>(std::size(values)) - 1)];
  };
  for (;;) {
    const std::int64_t channels = pick(kChannels);
    const std::array<std::int64_t, 4> filter = {pick(kChannels), channels, pick(kFilterSizes),
                                                pick(kFilterSizes)};
    const auto shape =
        Conv2dShape::For({random.Integer(1, 4), channels, pick(kSizes), pick(kSizes)}, filter,
                         {random.Integer(1, 4), random.Integer(1, 4)},
                         {random.Integer(0, filter[2]), random.Integer(0, filter[3])});
    if (shape.output[2] > 0 && shape.output[3] > 0 && shape.Flops() < 2e6) return shape;
  }
}

struct BadConv2dShape {
  Conv2dShape shape;
  // What the message must name.
  std::string_view argument;
};

// One mistake each.
inline std::vector<BadConv2dShape> BadConv2dShapes() {
  const Conv2dShape valid = Conv2dShape::For({2, 3, 6, 5}, {4, 3, 3, 2}, {2, 1}, {1, 0});
  const std::int64_t limit = std::int64_t{1} << 31;
  std::vector<BadConv2dShape> bad;
  const auto add = [&](std::string_view argument, auto change) {
    bad.push_back({valid, argument});
    change(bad.back().shape);
  };
  for (std::size_t i = 0; i < 4; ++i) {
    for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-1}, limit, -limit * limit}) {
      add("input", [&](Conv2dShape& shape) { shape.input[i] = size; });
      add("filter", [&](Conv2dShape& shape) { shape.filter[i] = size; });
      add("output", [&](Conv2dShape& shape) { shape.output[i] = size; });
    }
    add("output", [&](Conv2dShape& shape) { ++shape.output[i]; });
    add("output", [&](Conv2dShape& shape) { --shape.output[i]; });
  }
  for (std::size_t i = 0; i < 2; ++i) {
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, limit}) {
      add("stride", [&](Conv2dShape& shape) { shape.stride[i] = value; });
    }
    for (const std::int64_t value : {std::int64_t{-1}, limit}) {
      add("padding", [&](Conv2dShape& shape) { shape.padding[i] = value; });
    }
  }
  add("filter", [](Conv2dShape& shape) { shape.filter[1] = 2; });
  // A filter of one more than the padded input, with the output that rounding would give.
  add("filter", [](Conv2dShape& shape) { shape.filter[2] = 9, shape.output[2] = 1; });
  add("filter", [](Conv2dShape& shape) { shape.filter[2] = 9, shape.output[2] = 0; });
  add("filter", [](Conv2dShape& shape) { shape.filter[3] = 6, shape.output[3] = 1; });
  return bad;
}

// Valid sizes whose arrays no memory holds: the products exceed 64 bits.
inline Conv2dShape HugeConv2dShape() {
  const std::int64_t large = (std::int64_t{1} << 31) - 1;
  return Conv2dShape::For({large, large, large, large}, {large, large, 1, 1});
}

}  // namespace acceld::conformance
