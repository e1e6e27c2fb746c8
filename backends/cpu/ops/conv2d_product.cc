#include "backends/cpu/ops/conv2d_product.h"

#include <array>
#include <cstdint>

#include "backends/core/status.h"
#include "backends/cpu/ops/row_major_product.h"

namespace acceld::cpu {
namespace {

constexpr std::array<std::int64_t, 2> kNoPadding{0, 0};

// The product of one image.
RowMajorProduct PointwiseProduct(const Conv2d& convolution, std::int64_t image) {
  const std::int64_t channels = convolution.shape.filter[1];
  const std::int64_t filters = convolution.shape.filter[0];
  const std::int64_t places = convolution.shape.input[2] * convolution.shape.input[3];
  float* const input = convolution.input + image * channels * places;
  float* const output = convolution.output + image * filters * places;
  switch (convolution.direction) {
    case Conv2dDirection::kForward:
      return {.m = filters,
              .n = places,
              .k = channels,
              .a = convolution.filter,
              .lda = channels,
              .b = input,
              .ldb = places,
              .c = output,
              .ldc = places};
    case Conv2dDirection::kBackwardData:
      return {.transpose_a = Transpose::kTranspose,
              .m = channels,
              .n = places,
              .k = filters,
              .a = convolution.filter,
              .lda = channels,
              .b = output,
              .ldb = places,
              .c = input,
              .ldc = places};
    case Conv2dDirection::kBackwardFilter:
      break;
  }
  return {.transpose_b = Transpose::kTranspose,
          .m = filters,
          .n = channels,
          .k = places,
          .a = output,
          .lda = places,
          .b = input,
          .ldb = places,
          .beta = image == 0 ? 0.0F : 1.0F,
          .c = convolution.filter,
          .ldc = channels};
}

}  // namespace

bool CoversImage(const Conv2dShape& shape) {
  return shape.padding == kNoPadding && shape.filter[2] == shape.input[2] &&
         shape.filter[3] == shape.input[3];
}

absl::Status ConvolveWholeImages(const Conv2d& convolution) {
  const Conv2dShape& shape = convolution.shape;
  const std::int64_t images = shape.input[0];
  const std::int64_t filters = shape.filter[0];
  const std::int64_t weights = shape.filter[1] * shape.filter[2] * shape.filter[3];
  switch (convolution.direction) {
    case Conv2dDirection::kForward:
      return Multiply({.transpose_b = Transpose::kTranspose,
                       .m = images,
                       .n = filters,
                       .k = weights,
                       .a = convolution.input,
                       .lda = weights,
                       .b = convolution.filter,
                       .ldb = weights,
                       .c = convolution.output,
                       .ldc = filters});
    case Conv2dDirection::kBackwardData:
      return Multiply({.m = images,
                       .n = weights,
                       .k = filters,
                       .a = convolution.output,
                       .lda = filters,
                       .b = convolution.filter,
                       .ldb = weights,
                       .c = convolution.input,
                       .ldc = weights});
    case Conv2dDirection::kBackwardFilter:
      return Multiply({.transpose_a = Transpose::kTranspose,
                       .m = filters,
                       .n = weights,
                       .k = images,
                       .a = convolution.output,
                       .lda = filters,
                       .b = convolution.input,
                       .ldb = weights,
                       .c = convolution.filter,
                       .ldc = weights});
  }
  return absl::OkStatus();
}

bool IsPointwise(const Conv2dShape& shape) {
  constexpr std::array<std::int64_t, 2> kEachPlace{1, 1};
  return shape.padding == kNoPadding && shape.stride == kEachPlace && shape.filter[2] == 1 &&
         shape.filter[3] == 1;
}

absl::Status ConvolvePointwise(const Conv2d& convolution) {
  const Conv2dShape& shape = convolution.shape;
  for (std::int64_t image = 0; image < shape.input[0]; ++image) {
    ACCELD_RETURN_IF_ERROR(Multiply(PointwiseProduct(convolution, image)));
  }
  return absl::OkStatus();
}

}  // namespace acceld::cpu
