// The network that learns the digits:
//
//   images      [n, 1, 8, 8]
//   convolution, 16 filters of 3 x 3, relu   -> [n, 16, 8, 8]
//   convolution, 32 filters of 3 x 3, relu   -> [n, 32, 8, 8]
//   dense                                    -> [n, 10]
//   softmax                                  -> probabilities
//
// It uses nothing but ComputeBackend. Every call submits its ops and returns before they have run;
// a program that reads nothing back never waits.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/compute_backend.h"
#include "client/examples/buffer.h"
#include "client/examples/constants.h"
#include "client/examples/conv_layer.h"
#include "client/examples/dense_layer.h"
#include "client/examples/parameters.h"
#include "client/examples/random.h"

namespace acceld::examples {

class Network {
 public:
  // A network for at most `max_batch` images at once, with random weights. `backend` outlives it.
  static absl::StatusOr<Network> Create(ComputeBackend& backend, std::int64_t max_batch,
                                        Random& random);

  // images [n, 1, 8, 8] -> probabilities() [n, 10]
  absl::Status Forward(Address images, std::int64_t n);
  Address probabilities() const { return probabilities_.address(); }

  // *total = (accumulate ? *total : 0) + weight * the sum over the batch of -log(the probability of
  // the right class), the cross-entropy. Follows Forward. `one_hot` is [n, 10]: 1 at an image's
  // class, else 0. `total` is one element on the device.
  absl::Status AddLoss(Address one_hot, std::int64_t n, double weight, Address total,
                       bool accumulate);

  // The gradients of the loss, summed over the batch, by all parameters. Follows Forward of the
  // same images.
  absl::Status Backward(Address images, Address one_hot, std::int64_t n);

  // One step of stochastic gradient descent by the mean of the gradients of n images.
  absl::Status Update(std::int64_t n, double learning_rate, double momentum);

 private:
  Network(ComputeBackend& backend, std::unique_ptr<const Constants> constants,
          Parameters parameters, ConvLayer first, ConvLayer second, DenseLayer last)
      : backend_(&backend),
        constants_(std::move(constants)),
        parameters_(std::move(parameters)),
        first_(std::move(first)),
        second_(std::move(second)),
        last_(std::move(last)) {}

  ComputeBackend* backend_;
  std::unique_ptr<const Constants> constants_;
  Parameters parameters_;
  ConvLayer first_;
  ConvLayer second_;
  DenseLayer last_;
  Buffer probabilities_;
  // [max_batch, 10] and [max_batch]: steps on the way to the loss.
  Buffer chosen_;
  Buffer chosen_probability_;
};

}  // namespace acceld::examples
