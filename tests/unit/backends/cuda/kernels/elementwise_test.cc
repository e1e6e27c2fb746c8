// Unary and binary.
#include <limits>

#include "backends/ops/binary.h"
#include "backends/ops/unary.h"
#include "backends/reference/reference.h"
#include "tests/unit/backends/cuda/kernels/testing.h"

namespace acceld::cuda {
namespace {

constexpr std::initializer_list<UnaryOp> kUnaryOps = {
    UnaryOp::kRelu, UnaryOp::kSigmoid, UnaryOp::kTanh, UnaryOp::kExp,
    UnaryOp::kLog,  UnaryOp::kSqrt,    UnaryOp::kAbs,  UnaryOp::kNeg};
constexpr std::initializer_list<BinaryOp> kBinaryOps = {
    BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul, BinaryOp::kDiv, BinaryOp::kMax, BinaryOp::kMin};

// Some with a part of a block, some with several blocks.
constexpr std::initializer_list<std::int64_t> kLengths = {0,    1,    2,    3,    4,     5,
                                                          1023, 4095, 4096, 4097, 10'007};

// Everything that is special, and numbers of all magnitudes.
std::vector<float> SpecialNumbers() {
  using Limits = std::numeric_limits<float>;
  std::vector<float> numbers = {
      0.0f, NAN, INFINITY, Limits::max(), Limits::min(), Limits::denorm_min(), 1.0f};
  for (float x = 1e-45f; x < 2e38f; x *= 1.7f) numbers.push_back(x);
  for (float x = 80; x < 110; x += 0.37f) numbers.push_back(x);
  const std::size_t positive = numbers.size();
  for (std::size_t i = 0; i < positive; ++i) numbers.push_back(-numbers[i]);
  return numbers;
}

std::vector<float> UnaryOf(UnaryOp op, const std::vector<float>& input) {
  return InBothOrders([&](HostOrder order) {
    std::vector<float> output(input.size(), -1);
    RunOnHost(UnaryKernel(op, std::ssize(input), input.data(), output.data()), order);
    return output;
  });
}

std::vector<float> ReferenceOf(UnaryOp op, const std::vector<float>& input) {
  std::vector<float> output(input.size());
  reference::Run(ops::Unary{
      .op = op, .n = std::ssize(input), .input = AddressOf(input), .output = AddressOf(output)});
  return output;
}

TEST(UnaryKernelTest, AgreesWithTheReferenceOnSpecialNumbers) {
  for (const UnaryOp op : kUnaryOps) {
    SCOPED_TRACE(Name(op));
    // As close as the conformance suite wants it, down to the smallest normal number.
    ExpectClose(UnaryOf(op, SpecialNumbers()), ReferenceOf(op, SpecialNumbers()), 4e-6, 4e-44);
  }
}

TEST(UnaryKernelTest, TakesAnyLengthAtAnyAddress) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const std::int64_t n : kLengths) {
    const std::vector<float> values = random.Floats(n);
    const std::vector<float> expected = ReferenceOf(UnaryOp::kNeg, values);
    for (int offset = 0; offset < 16; ++offset) {
      Placed input(values, offset / 4);
      Placed output(std::vector<float>(values.size(), NAN), offset % 4);
      RunOnHost(UnaryKernel(UnaryOp::kNeg, n, input.data(), output.data()));
      ASSERT_EQ(output.values(), expected) << n << " elements, offsets " << offset;
      output.ExpectNothingAroundChanged();
    }
  }
}

TEST(UnaryKernelTest, MayBeInPlace) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (int offset = 0; offset < 4; ++offset) {
    const std::vector<float> values = random.Floats(9'001);
    Placed data(values, offset);
    RunOnHost(UnaryKernel(UnaryOp::kAbs, 9'001, data.data(), data.data()));
    EXPECT_EQ(data.values(), ReferenceOf(UnaryOp::kAbs, values));
    data.ExpectNothingAroundChanged();
  }
}

std::vector<float> BinaryOf(BinaryOp op, const std::vector<float>& a, const std::vector<float>& b) {
  return InBothOrders([&](HostOrder order) {
    std::vector<float> output(a.size(), -1);
    RunOnHost(BinaryKernel(op, std::ssize(a), a.data(), b.data(), output.data()), order);
    return output;
  });
}

std::vector<float> ReferenceOf(BinaryOp op, const std::vector<float>& a,
                               const std::vector<float>& b) {
  std::vector<float> output(a.size());
  reference::Run(ops::Binary{.op = op,
                             .n = std::ssize(a),
                             .a = AddressOf(a),
                             .b = AddressOf(b),
                             .output = AddressOf(output)});
  return output;
}

TEST(BinaryKernelTest, EqualsTheReferenceOnPairsOfSpecialNumbers) {
  std::vector<float> a;
  std::vector<float> b;
  for (const float x : SpecialNumbers()) {
    for (const float y : SpecialNumbers()) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  for (const BinaryOp op : kBinaryOps) {
    SCOPED_TRACE(Name(op));
    ExpectClose(BinaryOf(op, a, b), ReferenceOf(op, a, b), 0, 0);
  }
}

TEST(BinaryKernelTest, TakesAnyLengthAtAnyAddress) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const std::int64_t n : kLengths) {
    const std::vector<float> values_a = random.Floats(n);
    const std::vector<float> values_b = random.Floats(n);
    const std::vector<float> expected = ReferenceOf(BinaryOp::kSub, values_a, values_b);
    for (int offset = 0; offset < 64; ++offset) {
      Placed a(values_a, offset / 16);
      Placed b(values_b, offset / 4 % 4);
      Placed output(std::vector<float>(values_a.size(), NAN), offset % 4);
      RunOnHost(BinaryKernel(BinaryOp::kSub, n, a.data(), b.data(), output.data()));
      ASSERT_EQ(output.values(), expected) << n << " elements, offsets " << offset;
      output.ExpectNothingAroundChanged();
    }
  }
}

TEST(BinaryKernelTest, MayBeInPlaceOfEither) {
  Random random;
  SCOPED_TRACE(random.Trace());
  const std::vector<float> values_a = random.Floats(9'001);
  const std::vector<float> values_b = random.Floats(9'001);
  const std::vector<float> expected = ReferenceOf(BinaryOp::kSub, values_a, values_b);
  for (int offset = 0; offset < 16; ++offset) {
    for (const bool in_a : {true, false}) {
      Placed a(values_a, offset / 4);
      Placed b(values_b, offset % 4);
      Placed& output = in_a ? a : b;
      RunOnHost(BinaryKernel(BinaryOp::kSub, 9'001, a.data(), b.data(), output.data()));
      EXPECT_EQ(output.values(), expected);
      output.ExpectNothingAroundChanged();
    }
  }
}

}  // namespace
}  // namespace acceld::cuda
