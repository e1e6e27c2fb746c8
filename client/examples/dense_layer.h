// A fully connected layer.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/compute_backend.h"
#include "client/examples/buffer.h"
#include "client/examples/constants.h"
#include "client/examples/parameters.h"

namespace acceld::examples {

// output = weights * input + bias, for each row of inputs.
//
// Gemm is column-major. A row-major array [rows, features] is a column-major matrix [features,
// rows], a row a column; so nothing is ever transposed in memory.
class DenseLayer {
 public:
  struct Sizes {
    std::int64_t features_in = 0;
    std::int64_t features_out = 0;
  };

  // Where its parameters are in a layout.
  struct Indices {
    // [features_out, features_in], column-major
    std::int64_t weights = 0;
    std::int64_t bias = 0;
  };
  static Indices AddTo(ParameterLayout& layout, const Sizes& sizes);

  // A layer for at most `max_rows` at once. `backend` and `constants` (of at least `max_rows`
  // elements) outlive it.
  static absl::StatusOr<DenseLayer> Create(ComputeBackend& backend, const Constants& constants,
                                           const Sizes& sizes, const Parameters& parameters,
                                           const Indices& indices, std::int64_t max_rows);

  // input [rows, features_in] -> output() [rows, features_out]
  absl::Status Forward(Address input, std::int64_t rows);

  // Of the loss's gradient by the output, which the caller has put into output_gradient(), makes
  // those by weights and bias, and by the input, of whose shape it is.
  absl::Status Backward(Address input, std::int64_t rows, Address input_gradient);

  Address output() const { return output_.address(); }
  Address output_gradient() const { return output_gradient_.address(); }

 private:
  DenseLayer(ComputeBackend& backend, const Constants& constants, const Sizes& sizes)
      : backend_(&backend), constants_(&constants), sizes_(sizes) {}

  ComputeBackend* backend_;
  const Constants* constants_;
  Sizes sizes_;
  Parameter weights_;
  Parameter bias_;
  Buffer output_;
  Buffer output_gradient_;
};

}  // namespace acceld::examples
