// Both convolution gradients against differences of the convolution itself: with a loss of
// sum(output * weight), the gradient by an element is the change of the loss where the element
// changes, and exactly so, since the loss is linear in input and in filter.
#include <functional>
#include <vector>

#include "tests/conformance/conv2d_cases.h"
#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

constexpr float kStep = 0.5f;

std::vector<Conv2dShape> SmallShapes() {
  return {
      Conv2dShape::For({1, 2, 5, 4}, {3, 2, 3, 2}),
      Conv2dShape::For({2, 1, 6, 5}, {2, 1, 2, 3}, {2, 1}, {1, 0}),
      Conv2dShape::For({1, 2, 4, 7}, {2, 2, 3, 3}, {3, 2}, {2, 1}),
      Conv2dShape::For({1, 1, 7, 7}, {1, 1, 2, 2}, {3, 4}),
  };
}

double Dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

class GradientsTest : public ConformanceTest {
 protected:
  // Makes memory and values for one shape.
  void Use(const Conv2dShape& shape) {
    shape_ = shape;
    input_ = random_.Floats(ElementCount(shape.input));
    filter_ = random_.Floats(ElementCount(shape.filter));
    weight_ = random_.Floats(ElementCount(shape.output));
    input_address_ = Upload(input_);
    filter_address_ = Upload(filter_);
    weight_address_ = Upload(weight_);
    output_address_ = Alloc(weight_.size() * 4);
  }

  double Loss() {
    EXPECT_TRUE(IsOk(backend().Conv2dForward({.shape = shape_,
                                              .input = input_address_,
                                              .filter = filter_address_,
                                              .output = output_address_})));
    return Dot(Floats(output_address_, weight_.size()), weight_);
  }

  std::vector<float> InputGradient() {
    const Address gradient = Alloc(input_.size() * 4);
    EXPECT_TRUE(IsOk(backend().Conv2dBackwardData({.shape = shape_,
                                                   .filter = filter_address_,
                                                   .output_gradient = weight_address_,
                                                   .input_gradient = gradient})));
    return Floats(gradient, input_.size());
  }

  std::vector<float> FilterGradient() {
    const Address gradient = Alloc(filter_.size() * 4);
    EXPECT_TRUE(IsOk(backend().Conv2dBackwardFilter({.shape = shape_,
                                                     .input = input_address_,
                                                     .output_gradient = weight_address_,
                                                     .filter_gradient = gradient})));
    return Floats(gradient, filter_.size());
  }

  // Compares `gradient` with the change of the loss by each of `values`, which lie at `address`.
  void ExpectIsDifferenceOfLoss(const std::vector<float>& gradient,
                                const std::vector<float>& values, Address address) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto loss_at = [&](float value) {
        Write(address + i * 4, AsBytes(std::vector<float>{value}));
        return Loss();
      };
      const double difference = loss_at(values[i] + kStep) - loss_at(values[i] - kStep);
      Write(address + i * 4, AsBytes(std::vector<float>{values[i]}));
      EXPECT_NEAR(gradient[i], difference / (2 * kStep), 1e-4) << i;
    }
  }

  Conv2dShape shape_;
  std::vector<float> input_;
  std::vector<float> filter_;
  std::vector<float> weight_;
  Address input_address_ = 0;
  Address filter_address_ = 0;
  Address weight_address_ = 0;
  Address output_address_ = 0;
};

TEST_F(GradientsTest, BackwardDataIsTheDifferenceOfForwardByEachInput) {
  for (const Conv2dShape& shape : SmallShapes()) {
    Use(shape);
    ExpectIsDifferenceOfLoss(InputGradient(), input_, input_address_);
  }
}

TEST_F(GradientsTest, BackwardFilterIsTheDifferenceOfForwardByEachFilterElement) {
  for (const Conv2dShape& shape : SmallShapes()) {
    Use(shape);
    ExpectIsDifferenceOfLoss(FilterGradient(), filter_, filter_address_);
  }
}

// For a linear loss: loss = <input, its gradient> = <filter, its gradient>.
TEST_F(GradientsTest, BothGradientsGiveBackTheLossOnLargerShapes) {
  for (int i = 0; i < 20; ++i) {
    Use(i == 0 ? Conv2dShape::For({4, 16, 15, 13}, {8, 16, 5, 3}, {2, 1}, {2, 1})
               : RandomConv2dShape(random_));
    const double loss = Loss();
    const double tolerance = 1e-5 * static_cast<double>(weight_.size() + input_.size());
    EXPECT_NEAR(Dot(InputGradient(), input_), loss, tolerance);
    EXPECT_NEAR(Dot(FilterGradient(), filter_), loss, tolerance);
  }
}

}  // namespace
}  // namespace acceld::conformance
