// A convolution with bias and relu.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/compute_backend.h"
#include "client/examples/buffer.h"
#include "client/examples/constants.h"
#include "client/examples/parameters.h"

namespace acceld::examples {

// relu(input convolved with 3 x 3 filters + bias), with a border of one zero around the images.
class ConvLayer {
 public:
  struct Sizes {
    std::int64_t channels_in = 0;
    std::int64_t channels_out = 0;
    // Images are square, and the border keeps their size.
    std::int64_t side = 0;

    constexpr std::int64_t pixels() const { return side * side; }
    // Per image.
    constexpr std::int64_t elements_out() const { return channels_out * pixels(); }
  };

  // Where its parameters are in a layout.
  struct Indices {
    std::int64_t filter = 0;
    std::int64_t bias = 0;
  };
  static Indices AddTo(ParameterLayout& layout, const Sizes& sizes);

  // A layer for at most `max_images` at once. `backend` and `constants` (of at least `max_images`
  // times `sizes.elements_out()` elements) outlive it.
  static absl::StatusOr<ConvLayer> Create(ComputeBackend& backend, const Constants& constants,
                                          const Sizes& sizes, const Parameters& parameters,
                                          const Indices& indices, std::int64_t max_images);

  // input [images, channels_in, side, side] -> output() [images, channels_out, side, side]
  absl::Status Forward(Address input, std::int64_t images);

  // Of the loss's gradient by the output, which the caller has put into output_gradient(), makes
  // those by filter and bias, and, if wanted, by the input, of whose shape it is. Follows Forward
  // of the same input. Overwrites output_gradient().
  absl::Status Backward(Address input, std::int64_t images, std::optional<Address> input_gradient);

  Address output() const { return output_.address(); }
  Address output_gradient() const { return output_gradient_.address(); }

 private:
  ConvLayer(ComputeBackend& backend, const Constants& constants, const Sizes& sizes)
      : backend_(&backend), constants_(&constants), sizes_(sizes) {}

  absl::Status AddBias(std::int64_t images);
  absl::Status BiasGradient(std::int64_t images);
  // Sets the gradient to 0 where relu's output is 0.
  absl::Status ReluGradient(std::int64_t images);
  Conv2dShape ShapeFor(std::int64_t images) const;

  ComputeBackend* backend_;
  const Constants* constants_;
  Sizes sizes_;
  Parameter filter_;
  Parameter bias_;
  Buffer output_;
  Buffer output_gradient_;
  // 1 where relu's output is above 0, else 0.
  Buffer mask_;
  // [images, channels_out]
  Buffer image_sums_;
};

}  // namespace acceld::examples
