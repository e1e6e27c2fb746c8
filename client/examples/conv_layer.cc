#include "client/examples/conv_layer.h"

#include "backends/core/status.h"

namespace acceld::examples {
namespace {

constexpr std::int64_t kFilterSide = 3;
constexpr std::int64_t kPadding = 1;

}  // namespace

ConvLayer::Indices ConvLayer::AddTo(ParameterLayout& layout, const Sizes& sizes) {
  const std::int64_t fan_in = sizes.channels_in * kFilterSide * kFilterSide;
  return {.filter = layout.AddWeights(sizes.channels_out * fan_in, fan_in),
          .bias = layout.AddBiases(sizes.channels_out)};
}

absl::StatusOr<ConvLayer> ConvLayer::Create(ComputeBackend& backend, const Constants& constants,
                                            const Sizes& sizes, const Parameters& parameters,
                                            const Indices& indices, std::int64_t max_images) {
  ConvLayer layer(backend, constants, sizes);
  layer.filter_ = parameters.At(indices.filter);
  layer.bias_ = parameters.At(indices.bias);
  const std::int64_t elements = max_images * sizes.elements_out();
  ACCELD_ASSIGN_OR_RETURN(layer.output_, Buffer::Zeros(backend, elements));
  ACCELD_ASSIGN_OR_RETURN(layer.output_gradient_, Buffer::Zeros(backend, elements));
  ACCELD_ASSIGN_OR_RETURN(layer.mask_, Buffer::Zeros(backend, elements));
  ACCELD_ASSIGN_OR_RETURN(layer.image_sums_,
                          Buffer::Zeros(backend, max_images * sizes.channels_out));
  return layer;
}

Conv2dShape ConvLayer::ShapeFor(std::int64_t images) const {
  return Conv2dShape::For({images, sizes_.channels_in, sizes_.side, sizes_.side},
                          {sizes_.channels_out, sizes_.channels_in, kFilterSide, kFilterSide},
                          /*stride=*/{1, 1}, /*padding=*/{kPadding, kPadding});
}

absl::Status ConvLayer::Forward(Address input, std::int64_t images) {
  ACCELD_RETURN_IF_ERROR(backend_->Conv2dForward(
      {.shape = ShapeFor(images), .input = input, .filter = filter_.values, .output = output()}));
  ACCELD_RETURN_IF_ERROR(AddBias(images));
  return backend_->Unary({.op = UnaryOp::kRelu,
                          .n = images * sizes_.elements_out(),
                          .input = output(),
                          .output = output()});
}

absl::Status ConvLayer::AddBias(std::int64_t images) {
  // Gemm is column-major, so an image's output is a matrix [pixels, channels]. To it comes ones
  // [pixels, 1] times bias [1, channels]; the strides of 0 share both among all images.
  return backend_->BatchedGemm({.m = sizes_.pixels(),
                                .n = sizes_.channels_out,
                                .k = 1,
                                .a = constants_->ones.address(),
                                .lda = sizes_.pixels(),
                                .stride_a = 0,
                                .b = bias_.values,
                                .ldb = 1,
                                .stride_b = 0,
                                .beta = 1,
                                .c = output(),
                                .ldc = sizes_.pixels(),
                                .stride_c = sizes_.elements_out(),
                                .batch = images});
}

absl::Status ConvLayer::Backward(Address input, std::int64_t images,
                                 std::optional<Address> input_gradient) {
  ACCELD_RETURN_IF_ERROR(ReluGradient(images));
  ACCELD_RETURN_IF_ERROR(BiasGradient(images));
  ACCELD_RETURN_IF_ERROR(backend_->Conv2dBackwardFilter({.shape = ShapeFor(images),
                                                         .input = input,
                                                         .output_gradient = output_gradient(),
                                                         .filter_gradient = filter_.gradient}));
  if (!input_gradient.has_value()) return absl::OkStatus();
  return backend_->Conv2dBackwardData({.shape = ShapeFor(images),
                                       .filter = filter_.values,
                                       .output_gradient = output_gradient(),
                                       .input_gradient = *input_gradient});
}

absl::Status ConvLayer::ReluGradient(std::int64_t images) {
  const std::int64_t n = images * sizes_.elements_out();
  ACCELD_RETURN_IF_ERROR(backend_->Binary({.op = BinaryOp::kMul,
                                           .n = n,
                                           .a = output(),
                                           .b = constants_->huge.address(),
                                           .output = mask_.address()}));
  ACCELD_RETURN_IF_ERROR(backend_->Binary({.op = BinaryOp::kMin,
                                           .n = n,
                                           .a = mask_.address(),
                                           .b = constants_->ones.address(),
                                           .output = mask_.address()}));
  return backend_->Binary({.op = BinaryOp::kMul,
                           .n = n,
                           .a = output_gradient(),
                           .b = mask_.address(),
                           .output = output_gradient()});
}

absl::Status ConvLayer::BiasGradient(std::int64_t images) {
  // A bias is added to each pixel of its channel in each image: the sum over both.
  ACCELD_RETURN_IF_ERROR(backend_->Reduce({.op = ReduceOp::kSum,
                                           .shape = {images, sizes_.channels_out, sizes_.pixels()},
                                           .axis = 2,
                                           .input = output_gradient(),
                                           .output = image_sums_.address()}));
  return backend_->Reduce({.op = ReduceOp::kSum,
                           .shape = {images, sizes_.channels_out},
                           .axis = 0,
                           .input = image_sums_.address(),
                           .output = bias_.gradient});
}

}  // namespace acceld::examples
