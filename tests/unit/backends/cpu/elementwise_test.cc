#include <algorithm>
#include <bit>
#include <cmath>

#include "backends/reference/reference.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld {
namespace {

// Ordinary numbers, every kind of special one, and any bit pattern.
std::vector<float> Numbers(Random& random, std::int64_t count) {
  std::vector<float> values = random.Vector(count);
  const std::vector<float> special = {0.0f,      -0.0f,      INFINITY, -INFINITY, NAN,     1.0f,
                                      0x1p-149f, -0x1p-149f, 88.8f,    -104.0f,   -100.0f, 3e38f};
  for (float& value : values) {
    switch (random.Integer(0, 3)) {
      case 0:
        value *= 100;
        break;
      case 1:
        value = std::bit_cast<float>(static_cast<std::uint32_t>(random.Integer(0, 0xffffffff)));
        break;
      case 2:
        value = special[static_cast<std::size_t>(random.Integer(0, std::ssize(special) - 1))];
        break;
    }
  }
  return values;
}

class CpuUnary : public testing::TestWithParam<UnaryOp> {};
INSTANTIATE_TEST_SUITE_P(Ops, CpuUnary,
                         testing::Values(UnaryOp::kRelu, UnaryOp::kSigmoid, UnaryOp::kTanh,
                                         UnaryOp::kExp, UnaryOp::kLog, UnaryOp::kSqrt,
                                         UnaryOp::kAbs, UnaryOp::kNeg),
                         [](const auto& info) { return std::string(Name(info.param)); });

// How exact they are is vector_math_test.cc's.
TEST_P(CpuUnary, AgreesWithTheReferenceToTwoUnitsInTheLastPlace) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const std::int64_t n : {1, 7, 1000, 40'001}) {
    const auto input = Numbers(random, n);
    std::vector<float> actual(input.size());
    std::vector<float> expected(input.size());
    ops::Unary op{.op = GetParam(), .n = n, .input = AddressOf(input), .output = AddressOf(actual)};
    ASSERT_THAT(device.Run(Op(op)), IsOk());
    op.output = AddressOf(expected);
    reference::Run(op);
    ExpectClose(actual, expected, 0x1p-22, 0x1p-148);
    auto in_place = input;
    op.input = op.output = AddressOf(in_place);
    ASSERT_THAT(device.Run(Op(op)), IsOk());
    EXPECT_TRUE(SameBits(in_place, actual));
  }
}

// Large enough for stores past the caches, which in place there are not; no line begins at either
// end.
TEST_P(CpuUnary, PastTheCachesGivesTheSameBits) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  const std::int64_t n = 3'200'003;
  auto data = random.Vector(n + 1);
  std::vector<float> output(data.size(), 7);
  const Address first = AddressOf(data) + sizeof(float);
  ASSERT_THAT(device.Run(Op(ops::Unary{
                  .op = GetParam(), .n = n, .input = first, .output = AddressOf(output) + 4})),
              IsOk());
  EXPECT_EQ(output[0], 7);
  ASSERT_THAT(device.Run(Op(ops::Unary{.op = GetParam(), .n = n, .input = first, .output = first})),
              IsOk());
  output[0] = data[0];
  EXPECT_TRUE(SameBits(output, data));
}

TEST(CpuUnary, ReluOfNaNIsZero) {
  TestDevice device;
  std::vector<float> data(40'000, NAN);
  ASSERT_THAT(
      device.Run(Op(ops::Unary{
          .op = UnaryOp::kRelu, .n = 40'000, .input = AddressOf(data), .output = AddressOf(data)})),
      IsOk());
  EXPECT_THAT(data, testing::Each(0));
}

TEST(CpuUnary, AbsAndNegChangeTheSignOfZero) {
  TestDevice device;
  std::vector<float> data = {-0.0f, 0.0f};
  ops::Unary op{.op = UnaryOp::kNeg, .n = 2, .input = AddressOf(data), .output = AddressOf(data)};
  ASSERT_THAT(device.Run(Op(op)), IsOk());
  EXPECT_FALSE(std::signbit(data[0]));
  EXPECT_TRUE(std::signbit(data[1]));
  op.op = UnaryOp::kAbs;
  ASSERT_THAT(device.Run(Op(op)), IsOk());
  EXPECT_FALSE(std::signbit(data[1]));
}

class CpuBinary : public testing::TestWithParam<BinaryOp> {};
INSTANTIATE_TEST_SUITE_P(Ops, CpuBinary,
                         testing::Values(BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul,
                                         BinaryOp::kDiv, BinaryOp::kMax, BinaryOp::kMin),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST_P(CpuBinary, IsExactlyTheReferences) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const std::int64_t n : {1, 7, 1000, 70'001}) {
    const auto a = Numbers(random, n);
    const auto b = Numbers(random, n);
    std::vector<float> actual(a.size());
    std::vector<float> expected(a.size());
    ops::Binary op{.op = GetParam(),
                   .n = n,
                   .a = AddressOf(a),
                   .b = AddressOf(b),
                   .output = AddressOf(actual)};
    ASSERT_THAT(device.Run(Op(op)), IsOk());
    op.output = AddressOf(expected);
    reference::Run(op);
    ExpectClose(actual, expected, 0, 0);
    auto in_place = b;
    op.b = op.output = AddressOf(in_place);
    ASSERT_THAT(device.Run(Op(op)), IsOk());
    ExpectClose(in_place, expected, 0, 0);
  }
}

TEST_P(CpuBinary, PastTheCachesGivesTheSameBits) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  const std::int64_t n = 3'200'003;
  const auto a = random.Vector(n);
  auto b = random.Vector(n + 1);
  std::vector<float> output(b.size(), 7);
  const Address first = AddressOf(b) + sizeof(float);
  ASSERT_THAT(
      device.Run(Op(ops::Binary{
          .op = GetParam(), .n = n, .a = AddressOf(a), .b = first, .output = AddressOf(output)})),
      IsOk());
  EXPECT_EQ(output.back(), 7);
  ASSERT_THAT(device.Run(Op(ops::Binary{
                  .op = GetParam(), .n = n, .a = AddressOf(a), .b = first, .output = first})),
              IsOk());
  std::rotate(b.begin(), b.begin() + 1, b.end());
  output.back() = b.back();
  EXPECT_TRUE(SameBits(output, b));
}

TEST(CpuBinary, MaxAndMinReturnTheNumberWhereOneSideIsNaN) {
  TestDevice device;
  const std::vector<float> a = {NAN, 2, NAN};
  const std::vector<float> b = {1, NAN, NAN};
  for (const BinaryOp op : {BinaryOp::kMax, BinaryOp::kMin}) {
    std::vector<float> output(3);
    ASSERT_THAT(
        device.Run(Op(ops::Binary{
            .op = op, .n = 3, .a = AddressOf(a), .b = AddressOf(b), .output = AddressOf(output)})),
        IsOk());
    EXPECT_THAT(output, testing::ElementsAre(1, 2, testing::IsNan()));
  }
}

}  // namespace
}  // namespace acceld
