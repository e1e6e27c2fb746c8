// How exact the unary functions are: over every 61st f32, or over all of them where the environment
// variable ACCELD_TEST_ALL_FLOATS is set.
#include "backends/cpu/ops/vector_math.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld {
namespace {

constexpr std::int64_t kFloats = std::int64_t{1} << 32;
constexpr std::int64_t kBlock = 1 << 16;

// Far fewer than every `step`-th, a prime, where each takes long.
std::int64_t Step(std::int64_t step) {
  if (std::getenv("ACCELD_TEST_ALL_FLOATS") != nullptr) return 1;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 101 * step;
#else
  return step;
#endif
}

// In double, exact to far more than f32 holds.
double Exact(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::kRelu:
      return x > 0 ? x : 0;
    case UnaryOp::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case UnaryOp::kTanh:
      return std::tanh(x);
    case UnaryOp::kExp:
      return std::exp(x);
    case UnaryOp::kLog:
      return std::log(x);
    case UnaryOp::kSqrt:
      return std::sqrt(x);
    case UnaryOp::kAbs:
      return std::fabs(x);
    case UnaryOp::kNeg:
      return -x;
  }
  return x;
}

// How far `y` is from `exact`, in units of an f32's last place at `exact`; 0.5 also where it is
// less, infinitely far where it is a zero of the wrong sign.
double Error(float y, double exact) {
  // Most are, and there are many.
  if (y == static_cast<float>(exact)) {
    return std::signbit(y) == std::signbit(exact) ? 0.5 : std::numeric_limits<double>::infinity();
  }
  if (std::isnan(exact) || std::isnan(y)) {
    return std::isnan(exact) && std::isnan(y) ? 0 : std::numeric_limits<double>::infinity();
  }
  // Beyond the largest f32 come 2^128, which is written infinity, and nothing more.
  const auto bounded = [](double value) { return std::fmax(-0x1p128, std::fmin(value, 0x1p128)); };
  const double value = bounded(exact);
  const double place = std::ldexp(1.0, std::ilogb(value == 0 ? 0x1p-126 : value) - 23);
  return std::fabs(bounded(static_cast<double>(y)) - value) / std::fmax(place, 0x1p-149);
}

// What no step may meet.
constexpr std::array<float, 8> kEdges = {0.0F,     -0.0F,     0x1p-149F, -0x1p-149F,
                                         INFINITY, -INFINITY, 0x1p-126F, -0x1p-126F};

// The worst error of `apply`, which computes y[i] of x[i], and a number that has it.
struct Worst {
  double error = 0;
  float x = 0;
};

Worst WorstError(
    UnaryOp op, std::int64_t step,
    const std::function<void(const std::vector<float>& x, std::vector<float>& y)>& apply) {
  std::vector<float> x(kBlock + kEdges.size());
  std::copy(kEdges.begin(), kEdges.end(), x.end() - kEdges.size());
  std::vector<float> y(x.size());
  Worst worst;
  for (std::int64_t block = 0; block < kFloats; block += kBlock * step) {
    for (std::int64_t i = 0; i < kBlock; ++i) {
      x[static_cast<std::size_t>(i)] =
          std::bit_cast<float>(static_cast<std::uint32_t>(block + i * step));
    }
    apply(x, y);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = Error(y[i], Exact(op, static_cast<double>(x[i])));
      if (error > worst.error) worst = {error, x[i]};
    }
  }
  return worst;
}

// IEEE 754 requires some to be the nearest; the others are as vector_math.h says.
double Bound(UnaryOp op) {
  switch (op) {
    case UnaryOp::kSigmoid:
      return 2;
    case UnaryOp::kTanh:
      return 1.4;
    case UnaryOp::kExp:
      return 1.1;
    case UnaryOp::kLog:
      return 0.9;
    default:
      return 0.5;
  }
}

class CpuVectorMath : public testing::TestWithParam<UnaryOp> {};
INSTANTIATE_TEST_SUITE_P(Ops, CpuVectorMath,
                         testing::Values(UnaryOp::kRelu, UnaryOp::kSigmoid, UnaryOp::kTanh,
                                         UnaryOp::kExp, UnaryOp::kLog, UnaryOp::kSqrt,
                                         UnaryOp::kAbs, UnaryOp::kNeg),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST_P(CpuVectorMath, IsAsExactAsItSays) {
  TestDevice device;
  const Worst worst = WorstError(GetParam(), Step(61), [&](const auto& x, auto& y) {
    ASSERT_THAT(
        device.Run(Op(ops::Unary{
            .op = GetParam(), .n = std::ssize(x), .input = AddressOf(x), .output = AddressOf(y)})),
        IsOk());
  });
  RecordProperty("worst_error", std::to_string(worst.error));
  EXPECT_LE(worst.error, Bound(GetParam())) << "of " << std::hexfloat << worst.x;
}

#if defined(__x86_64__)
// The functions for each version of the processor that a loop is compiled for.
#define ACCELD_APPLY_FOR(name, version)                                                           \
  __attribute__((version)) void name(UnaryOp op, const std::vector<float>& x,                     \
                                     std::vector<float>& y) {                                     \
    for (std::size_t i = 0; i < x.size(); ++i) {                                                  \
      y[i] = op == UnaryOp::kExp    ? cpu::Exp(x[i])                                              \
             : op == UnaryOp::kTanh ? cpu::Tanh(x[i])                                             \
             : op == UnaryOp::kLog  ? cpu::Log(x[i])                                              \
                                    : cpu::Sigmoid(x[i]);                                          \
    }                                                                                             \
  }                                                                                               \
  __attribute__((version)) void name##UpTo0(const std::vector<float>& x, std::vector<float>& y) { \
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = cpu::ExpUpTo0(x[i]);                        \
  }
ACCELD_APPLY_FOR(ApplyForAny, target("sse2"))
ACCELD_APPLY_FOR(ApplyForV3, target("arch=x86-64-v3"))
ACCELD_APPLY_FOR(ApplyForV4, target("arch=x86-64-v4"))

TEST(CpuVectorMath, IsAsExactForEachProcessorVersion) {
  using Apply = void (*)(UnaryOp op, const std::vector<float>& x, std::vector<float>& y);
  std::vector<Apply> versions = {ApplyForAny};
  if (__builtin_cpu_supports("x86-64-v3")) versions.push_back(ApplyForV3);
  if (__builtin_cpu_supports("x86-64-v4")) versions.push_back(ApplyForV4);
  for (const Apply apply : versions) {
    for (const UnaryOp op : {UnaryOp::kExp, UnaryOp::kTanh, UnaryOp::kLog, UnaryOp::kSigmoid}) {
      const Worst worst =
          WorstError(op, Step(977), [&](const auto& x, auto& y) { apply(op, x, y); });
      EXPECT_LE(worst.error, Bound(op)) << Name(op) << " of " << std::hexfloat << worst.x;
    }
  }
}

TEST(CpuVectorMath, ExpUpTo0IsAsExactAsItSaysForEachProcessorVersion) {
  using Apply = void (*)(const std::vector<float>& x, std::vector<float>& y);
  std::vector<Apply> versions = {ApplyForAnyUpTo0};
  if (__builtin_cpu_supports("x86-64-v3")) versions.push_back(ApplyForV3UpTo0);
  if (__builtin_cpu_supports("x86-64-v4")) versions.push_back(ApplyForV4UpTo0);
  std::vector<float> x;
  for (std::int64_t i = 0; i <= 8'900'000; i += Step(7))
    x.push_back(static_cast<float>(i) * -1e-5f);
  std::vector<float> y(x.size());
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> special = {0.0f, -89.0f, -infinity,
                                      std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> of_special(special.size());
  for (const Apply apply : versions) {
    apply(x, y);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = std::exp(static_cast<double>(x[i]));
      const double bound = exact * 3 * 0x1p-23 + 0x1p-126;
      ASSERT_LE(std::fabs(static_cast<double>(y[i]) - exact), bound) << "of " << x[i];
    }
    apply(special, of_special);
    EXPECT_EQ(of_special[0], 1);
    EXPECT_EQ(of_special[1], 0);
    EXPECT_EQ(of_special[2], 0);
    EXPECT_TRUE(std::isnan(of_special[3]));
  }
}
#endif

TEST_P(CpuVectorMath, GivesAnElementTheSameBitsAtAnyPlace) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  std::vector<float> x = random.Vector(200);
  for (float& value : x) value *= static_cast<float>(random.Integer(1, 100));
  const auto apply = [&](const std::vector<float>& input) {
    std::vector<float> output(input.size());
    EXPECT_THAT(device.Run(Op(ops::Unary{.op = GetParam(),
                                         .n = std::ssize(input),
                                         .input = AddressOf(input),
                                         .output = AddressOf(output)})),
                IsOk());
    return output;
  };
  const std::vector<float> all = apply(x);
  for (std::ptrdiff_t begin = 0; begin < 70; ++begin) {
    for (const std::ptrdiff_t length : {1, 5, 33, 130}) {
      const std::vector<float> part(x.begin() + begin, x.begin() + begin + length);
      EXPECT_TRUE(SameBits(apply(part),
                           std::vector<float>(all.begin() + begin, all.begin() + begin + length)));
    }
  }
}

// Where the output goes past the caches, from any element on.
TEST_P(CpuVectorMath, GivesALargeArrayTheSameBits) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  const std::int64_t period = 1 << 10;
  const std::int64_t n = (std::int64_t{1} << 22) + 77;
  const std::vector<float> few = random.Vector(period);
  std::vector<float> expected(few.size());
  ops::Unary op{
      .op = GetParam(), .n = period, .input = AddressOf(few), .output = AddressOf(expected)};
  ASSERT_THAT(device.Run(Op(op)), IsOk());
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = few[i % few.size()];
  const std::int64_t offset = random.Integer(0, 15);
  std::vector<float> y(x.size() + 16, -77);
  op = {.op = GetParam(),
        .n = n,
        .input = AddressOf(x),
        .output = AddressOf(y) + static_cast<Address>(offset) * sizeof(float)};
  ASSERT_THAT(device.Run(Op(op)), IsOk());
  std::size_t wrong = 0;
  for (std::int64_t i = -offset; i < std::ssize(y) - offset; ++i) {
    const bool within = i >= 0 && i < n;
    const float wanted = within ? expected[static_cast<std::size_t>(i % period)] : -77;
    const float found = y[static_cast<std::size_t>(i + offset)];
    wrong += std::bit_cast<std::uint32_t>(found) != std::bit_cast<std::uint32_t>(wanted);
  }
  EXPECT_EQ(wrong, 0u) << "at an offset of " << offset;
}

}  // namespace
}  // namespace acceld
