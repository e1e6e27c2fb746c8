#include "client/examples/parameters.h"

#include <cmath>

#include "backends/core/status.h"

namespace acceld::examples {
namespace {

// Arrays start at multiples of 256 bytes, as allocations do. What is between them stays 0.
constexpr std::int64_t kArrayAlignment = 256 / sizeof(float);

// y = beta * y + alpha * x for arrays of `count` elements: a gemm that multiplies the column x
// [count, 1] by the single element 1.
absl::Status AddScaled(ComputeBackend& backend, const Constants& constants, std::int64_t count,
                       double alpha, Address x, double beta, Address y) {
  return backend.Gemm({.m = count,
                       .n = 1,
                       .k = 1,
                       .alpha = alpha,
                       .a = x,
                       .lda = count,
                       .b = constants.ones.address(),
                       .ldb = 1,
                       .beta = beta,
                       .c = y,
                       .ldc = count});
}

}  // namespace

std::int64_t ParameterLayout::Append(std::int64_t count) {
  const auto index = static_cast<std::int64_t>(values_.size());
  const std::int64_t padded = (count + kArrayAlignment - 1) / kArrayAlignment * kArrayAlignment;
  values_.resize(static_cast<std::size_t>(index + padded));
  return index;
}

std::int64_t ParameterLayout::AddWeights(std::int64_t count, std::int64_t fan_in) {
  const std::int64_t index = Append(count);
  // An even distribution over [-bound, bound) has the variance bound^2 / 3.
  const float bound = std::sqrt(6.0F / static_cast<float>(fan_in));
  for (std::int64_t i = 0; i < count; ++i) {
    values_[static_cast<std::size_t>(index + i)] = random_.Uniform(bound);
  }
  return index;
}

std::int64_t ParameterLayout::AddBiases(std::int64_t count) { return Append(count); }

absl::StatusOr<Parameters> Parameters::Create(ComputeBackend& backend,
                                              const ParameterLayout& layout) {
  Parameters parameters;
  parameters.count_ = static_cast<std::int64_t>(layout.values().size());
  ACCELD_ASSIGN_OR_RETURN(parameters.values_, Buffer::Of(backend, layout.values()));
  ACCELD_ASSIGN_OR_RETURN(parameters.gradients_, Buffer::Zeros(backend, parameters.count_));
  ACCELD_ASSIGN_OR_RETURN(parameters.velocities_, Buffer::Zeros(backend, parameters.count_));
  return parameters;
}

absl::Status Parameters::Update(ComputeBackend& backend, const Constants& constants,
                                double gradient_scale, double learning_rate, double momentum) {
  ACCELD_RETURN_IF_ERROR(AddScaled(backend, constants, count_, gradient_scale, gradients_.address(),
                                   momentum, velocities_.address()));
  return AddScaled(backend, constants, count_, -learning_rate, velocities_.address(), 1,
                   values_.address());
}

}  // namespace acceld::examples
