// Everything a network learns, and how it is updated.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/compute_backend.h"
#include "client/examples/buffer.h"
#include "client/examples/constants.h"
#include "client/examples/random.h"

namespace acceld::examples {

// One array of weights or biases: where it is and where its gradient goes.
struct Parameter {
  Address values = 0;
  Address gradient = 0;
};

// Lays out the arrays side by side and chooses their first values.
class ParameterLayout {
 public:
  explicit ParameterLayout(Random& random) : random_(random) {}

  // An array of `count` weights, each of which is one of `fan_in` inputs of a sum. Their variance,
  // 2 / fan_in, keeps that of the activations behind a relu (He et al., 2015, "Delving Deep into
  // Rectifiers"). Returns the index of the first.
  std::int64_t AddWeights(std::int64_t count, std::int64_t fan_in);
  // An array of `count` biases, 0 at first.
  std::int64_t AddBiases(std::int64_t count);

  const std::vector<float>& values() const { return values_; }

 private:
  std::int64_t Append(std::int64_t count);

  Random& random_;
  std::vector<float> values_;
};

// All arrays of a layout in one allocation, and their gradients and velocities in two others of
// the same layout, so that an update is two ops however many layers there are.
class Parameters {
 public:
  static absl::StatusOr<Parameters> Create(ComputeBackend& backend, const ParameterLayout& layout);

  // The array at `index`, as the layout returned it.
  Parameter At(std::int64_t index) const {
    return {ElementAt(values_.address(), index), ElementAt(gradients_.address(), index)};
  }

  // Stochastic gradient descent with momentum:
  //   velocity = momentum * velocity + gradient * gradient_scale
  //   value = value - learning_rate * velocity
  absl::Status Update(ComputeBackend& backend, const Constants& constants, double gradient_scale,
                      double learning_rate, double momentum);

 private:
  std::int64_t count_ = 0;
  Buffer values_;
  Buffer gradients_;
  Buffer velocities_;
};

}  // namespace acceld::examples
