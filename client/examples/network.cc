#include "client/examples/network.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/core/status.h"
#include "client/examples/digits.h"

namespace acceld::examples {
namespace {

constexpr ConvLayer::Sizes kFirst{.channels_in = 1, .channels_out = 16, .side = kImageSide};
constexpr ConvLayer::Sizes kSecond{
    .channels_in = kFirst.channels_out, .channels_out = 32, .side = kFirst.side};
constexpr DenseLayer::Sizes kLast{.features_in = kSecond.elements_out(), .features_out = kClasses};

// The longest operand of a constant, per image.
constexpr std::int64_t kConstantElements =
    std::max({kFirst.elements_out(), kSecond.elements_out(), kClasses});

}  // namespace

absl::StatusOr<Network> Network::Create(ComputeBackend& backend, std::int64_t max_batch,
                                        Random& random) {
  ACCELD_ASSIGN_OR_RETURN(auto constants,
                          Constants::Create(backend, max_batch * kConstantElements));

  ParameterLayout layout(random);
  const ConvLayer::Indices first_at = ConvLayer::AddTo(layout, kFirst);
  const ConvLayer::Indices second_at = ConvLayer::AddTo(layout, kSecond);
  const DenseLayer::Indices last_at = DenseLayer::AddTo(layout, kLast);
  ACCELD_ASSIGN_OR_RETURN(Parameters parameters, Parameters::Create(backend, layout));

  ACCELD_ASSIGN_OR_RETURN(ConvLayer first, ConvLayer::Create(backend, *constants, kFirst,
                                                             parameters, first_at, max_batch));
  ACCELD_ASSIGN_OR_RETURN(ConvLayer second, ConvLayer::Create(backend, *constants, kSecond,
                                                              parameters, second_at, max_batch));
  ACCELD_ASSIGN_OR_RETURN(DenseLayer last, DenseLayer::Create(backend, *constants, kLast,
                                                              parameters, last_at, max_batch));

  Network network(backend, std::move(constants), std::move(parameters), std::move(first),
                  std::move(second), std::move(last));
  ACCELD_ASSIGN_OR_RETURN(network.probabilities_, Buffer::Zeros(backend, max_batch * kClasses));
  ACCELD_ASSIGN_OR_RETURN(network.chosen_, Buffer::Zeros(backend, max_batch * kClasses));
  ACCELD_ASSIGN_OR_RETURN(network.chosen_probability_, Buffer::Zeros(backend, max_batch));
  return network;
}

absl::Status Network::Forward(Address images, std::int64_t n) {
  ACCELD_RETURN_IF_ERROR(first_.Forward(images, n));
  ACCELD_RETURN_IF_ERROR(second_.Forward(first_.output(), n));
  // [n, 32, 8, 8] is [n, 2048] without moving anything.
  ACCELD_RETURN_IF_ERROR(last_.Forward(second_.output(), n));
  return backend_->Softmax(
      {.shape = {n, kClasses}, .axis = 1, .input = last_.output(), .output = probabilities()});
}

absl::Status Network::AddLoss(Address one_hot, std::int64_t n, double weight, Address total,
                              bool accumulate) {
  // The probability of the right class: the others are multiplied by 0 before the sum.
  ACCELD_RETURN_IF_ERROR(backend_->Binary({.op = BinaryOp::kMul,
                                           .n = n * kClasses,
                                           .a = probabilities(),
                                           .b = one_hot,
                                           .output = chosen_.address()}));
  const Address probability = chosen_probability_.address();
  ACCELD_RETURN_IF_ERROR(backend_->Reduce({.op = ReduceOp::kSum,
                                           .shape = {n, kClasses},
                                           .axis = 1,
                                           .input = chosen_.address(),
                                           .output = probability}));
  // An f32 softmax rounds the least likely to 0, which has no logarithm.
  ACCELD_RETURN_IF_ERROR(backend_->Binary({.op = BinaryOp::kMax,
                                           .n = n,
                                           .a = probability,
                                           .b = constants_->tiny.address(),
                                           .output = probability}));
  ACCELD_RETURN_IF_ERROR(
      backend_->Unary({.op = UnaryOp::kLog, .n = n, .input = probability, .output = probability}));
  // total [1, 1] = -weight * ones [1, n] * logarithms [n, 1] + total
  return backend_->Gemm({.m = 1,
                         .n = 1,
                         .k = n,
                         .alpha = -weight,
                         .a = constants_->ones.address(),
                         .lda = 1,
                         .b = probability,
                         .ldb = n,
                         .beta = accumulate ? 1.0 : 0.0,
                         .c = total,
                         .ldc = 1});
}

absl::Status Network::Backward(Address images, Address one_hot, std::int64_t n) {
  // The gradient of cross-entropy by softmax's input.
  ACCELD_RETURN_IF_ERROR(backend_->Binary({.op = BinaryOp::kSub,
                                           .n = n * kClasses,
                                           .a = probabilities(),
                                           .b = one_hot,
                                           .output = last_.output_gradient()}));
  ACCELD_RETURN_IF_ERROR(last_.Backward(second_.output(), n, second_.output_gradient()));
  ACCELD_RETURN_IF_ERROR(second_.Backward(first_.output(), n, first_.output_gradient()));
  // Nobody needs the gradient by the images.
  return first_.Backward(images, n, std::nullopt);
}

absl::Status Network::Update(std::int64_t n, double learning_rate, double momentum) {
  return parameters_.Update(*backend_, *constants_, 1.0 / static_cast<double>(n), learning_rate,
                            momentum);
}

}  // namespace acceld::examples
