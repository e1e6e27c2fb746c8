#include "backends/ops/conv2d_shape.h"

#include "backends/core/status.h"
#include "backends/ops/shape.h"
#include "fmt/format.h"

namespace acceld {
namespace {

constexpr std::array<std::string_view, 4> kInputNames{"input[0]", "input[1]", "input[2]",
                                                      "input[3]"};
constexpr std::array<std::string_view, 4> kFilterNames{"filter[0]", "filter[1]", "filter[2]",
                                                       "filter[3]"};
constexpr std::array<std::string_view, 4> kOutputNames{"output[0]", "output[1]", "output[2]",
                                                       "output[3]"};
constexpr std::array<std::string_view, 2> kStrideNames{"stride[0]", "stride[1]"};
constexpr std::array<std::string_view, 2> kPaddingNames{"padding[0]", "padding[1]"};

template <std::size_t n>
absl::Status CheckDimensions(const std::array<std::int64_t, n>& values, std::int64_t minimum,
                             std::string_view op_name,
                             const std::array<std::string_view, n>& names) {
  for (std::size_t i = 0; i < n; ++i) {
    ACCELD_RETURN_IF_ERROR(CheckDimension(values[i], minimum, op_name, names[i]));
  }
  return absl::OkStatus();
}

// How many places a filter has in the padded input along one axis; 0 where it does not fit.
std::int64_t OutputSize(std::int64_t input, std::int64_t filter, std::int64_t stride,
                        std::int64_t padding) {
  const __int128 room = __int128{input} + 2 * __int128{padding} - filter;
  if (room < 0 || stride < 1) return 0;
  const __int128 places = room / stride + 1;
  return places < kDimensionLimit ? static_cast<std::int64_t>(places) : kDimensionLimit;
}

absl::Status CheckOutputSize(std::int64_t actual, std::int64_t expected, std::string_view why,
                             std::string_view op_name, std::string_view argument) {
  if (actual == expected) return absl::OkStatus();
  return InvalidArgument(fmt::format("Argument {} of {} is {}; it must be {}, {}.", argument,
                                     op_name, actual, expected, why));
}

}  // namespace

Conv2dShape Conv2dShape::For(std::array<std::int64_t, 4> input, std::array<std::int64_t, 4> filter,
                             std::array<std::int64_t, 2> stride,
                             std::array<std::int64_t, 2> padding) {
  return {.input = input,
          .filter = filter,
          .output = {input[0], filter[0], OutputSize(input[2], filter[2], stride[0], padding[0]),
                     OutputSize(input[3], filter[3], stride[1], padding[1])},
          .stride = stride,
          .padding = padding};
}

absl::Status Conv2dShape::Check(std::string_view op_name) const {
  ACCELD_RETURN_IF_ERROR(CheckDimensions(input, 1, op_name, kInputNames));
  ACCELD_RETURN_IF_ERROR(CheckDimensions(filter, 1, op_name, kFilterNames));
  ACCELD_RETURN_IF_ERROR(CheckDimensions(stride, 1, op_name, kStrideNames));
  ACCELD_RETURN_IF_ERROR(CheckDimensions(padding, 0, op_name, kPaddingNames));
  ACCELD_RETURN_IF_ERROR(
      CheckOutputSize(filter[1], input[1], "the input's channels", op_name, kFilterNames[1]));

  const Conv2dShape expected = For(input, filter, stride, padding);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (expected.output[2 + axis] == 0) {
      return InvalidArgument(fmt::format(
          "Argument {} of {} is {}; it must be at most {}, the padded input's size.",
          kFilterNames[2 + axis], op_name, filter[2 + axis], input[2 + axis] + 2 * padding[axis]));
    }
  }
  constexpr std::array<std::string_view, 4> kWhy{"the input's batch", "the filter's outputs",
                                                 "as input, filter, stride and padding give",
                                                 "as input, filter, stride and padding give"};
  for (std::size_t i = 0; i < output.size(); ++i) {
    ACCELD_RETURN_IF_ERROR(
        CheckOutputSize(output[i], expected.output[i], kWhy[i], op_name, kOutputNames[i]));
  }
  ACCELD_RETURN_IF_ERROR(CheckDimensions(output, 1, op_name, kOutputNames));

  ACCELD_RETURN_IF_ERROR(CheckArrayBytes(input, sizeof(float), op_name, "input"));
  ACCELD_RETURN_IF_ERROR(CheckArrayBytes(filter, sizeof(float), op_name, "filter"));
  return CheckArrayBytes(output, sizeof(float), op_name, "output");
}

double Conv2dShape::Flops() const {
  return 2 * static_cast<double>(ElementCount(output)) * static_cast<double>(filter[1]) *
         static_cast<double>(filter[2]) * static_cast<double>(filter[3]);
}

}  // namespace acceld
