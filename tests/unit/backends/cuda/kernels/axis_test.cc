// Reductions and softmax along an axis.
#include <algorithm>

#include "backends/ops/reduce.h"
#include "backends/ops/softmax.h"
#include "backends/reference/reference.h"
#include "tests/unit/backends/cuda/kernels/testing.h"

namespace acceld::cuda {
namespace {

struct Extents {
  std::int64_t outer;
  std::int64_t length;
  std::int64_t inner;
};

void PrintTo(const Extents& e, std::ostream* stream) {
  *stream << "[" << e.outer << ", " << e.length << ", " << e.inner << "]";
}

// Axes inside, outside and in the middle; short and cut into segments; odd and of one.
constexpr std::initializer_list<Extents> kShapes = {
    {1, 1, 1},      {1, 7, 1},      {1, 1, 7},       {7, 1, 1},      {5, 9, 3},
    {300, 10, 1},   {2, 300, 1},    {1, 300'001, 1}, {3, 50'001, 5}, {1, 70'001, 3},
    {1, 301, 1111}, {1111, 301, 1}, {3, 2, 700},     {70, 5, 33},    {1, 20'000, 40},
    {2000, 1, 3},   {1, 2, 10'000}, {4, 31, 257},    {999, 3, 2},    {1, 12'289, 17},
};

TEST(AxisTilingTest, GivesEveryElementToOneThread) {
  for (const Extents& e : kShapes) {
    for (const bool may_cut : {true, false}) {
      const AxisTiling tiling(e.outer, e.length, e.inner, may_cut);
      std::vector<int> seen(static_cast<std::size_t>(e.outer * e.length * e.inner));
      for (std::int64_t block = 0; block < tiling.blocks(); ++block) {
        for (int thread = 0; thread < AxisTiling::kThreads; ++thread) {
          const AxisTiling::Part part = tiling.At(block, thread);
          if (part.slot_in_block < 0) continue;
          ASSERT_LT(part.slot, tiling.slots());
          ASSERT_LE(tiling.slots_per_block() * tiling.lanes(), AxisTiling::kThreads);
          for (std::int64_t l = part.begin; l < part.end; l += tiling.lanes()) {
            ++seen[static_cast<std::size_t>(part.first + l * part.stride)];
          }
        }
      }
      EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), std::ssize(seen))
          << testing::PrintToString(e);
    }
  }
}

TEST(AxisTilingTest, CutsTheLengthWhereThereIsLittleElse) {
  EXPECT_GT(AxisTiling(1, 1'000'000, 1, true).segments(), 100);
  EXPECT_GT(AxisTiling(1, 1'000'000, 3, true).segments(), 100);
  EXPECT_EQ(AxisTiling(1, 1'000'000, 1, false).segments(), 1);
  EXPECT_EQ(AxisTiling(5000, 1'000'000, 1, true).segments(), 1);
  EXPECT_EQ(AxisTiling(1, 1000, 1, true).segments(), 1);
}

// As ops/reduce.cc launches it.
std::vector<float> Reduced(ReduceOp op, const Extents& e, const std::vector<float>& input) {
  return InBothOrders([&](HostOrder order) {
    std::vector<float> output(static_cast<std::size_t>(e.outer * e.inner), -1);
    const double length = static_cast<double>(e.length);
    ReduceKernel<float> kernel(op, e.outer, e.length, e.inner, length, input.data(), output.data());
    const std::int64_t segments = kernel.segments();
    std::vector<double> partials(output.size() * static_cast<std::size_t>(segments), NAN);
    if (segments > 1) kernel.set_partials(partials.data());
    RunOnHost(kernel, order);
    if (segments > 1) {
      const ReduceKernel<double> second(op, 1, segments, e.outer * e.inner, length, partials.data(),
                                        output.data());
      EXPECT_EQ(second.segments(), 1);
      RunOnHost(second, order);
    }
    return output;
  });
}

std::vector<float> ReferenceOf(ReduceOp op, const Extents& e, const std::vector<float>& input) {
  std::vector<float> output(static_cast<std::size_t>(e.outer * e.inner));
  reference::Run(ops::Reduce{.op = op,
                             .shape = {e.outer, e.length, e.inner},
                             .axis = 1,
                             .input = AddressOf(input),
                             .output = AddressOf(output)});
  return output;
}

TEST(ReduceKernelTest, AgreesWithTheReference) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const Extents& e : kShapes) {
    SCOPED_TRACE(testing::PrintToString(e));
    const std::vector<float> input = random.Floats(e.outer * e.length * e.inner);
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
      // Both sum in double, in different orders.
      ExpectClose(Reduced(op, e, input), ReferenceOf(op, e, input), 1.3e-7, 1e-11);
    }
    for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
      EXPECT_EQ(Reduced(op, e, input), ReferenceOf(op, e, input));
    }
  }
}

TEST(ReduceKernelTest, LosesNoDigitsOfLongSums) {
  // In f32, 2^24 + 1 is 2^24.
  std::vector<float> input(100'000, 1);
  input[0] = 0x1p24f;
  EXPECT_THAT(Reduced(ReduceOp::kSum, {1, 100'000, 1}, input),
              testing::ElementsAre(0x1p24f + 100'000.0f));
  EXPECT_THAT(Reduced(ReduceOp::kSum, {1, 50'000, 2}, input),
              testing::ElementsAre(0x1p24f + 50'000.0f, 50'000));
}

TEST(ReduceKernelTest, SpreadsNanAndInfinityAsItShould) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const Extents& e : {Extents{1, 5, 1}, {3, 100, 7}, {1, 40'000, 1}, {9, 33, 1}}) {
    std::vector<float> input = random.Floats(e.outer * e.length * e.inner);
    for (int i = 0; i < 5; ++i) {
      input[static_cast<std::size_t>(random.Integer(0, std::ssize(input) - 1))] =
          random.Pick({NAN, INFINITY, -INFINITY});
    }
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax, ReduceOp::kMin}) {
      SCOPED_TRACE(testing::Message() << Name(op) << " of " << testing::PrintToString(e));
      ExpectClose(Reduced(op, e, input), ReferenceOf(op, e, input), 1.3e-7, 1e-11);
    }
    const std::vector<float> nothing(input.size(), NAN);
    EXPECT_THAT(Reduced(ReduceOp::kMax, e, nothing), testing::Each(testing::IsNan()));
    EXPECT_THAT(Reduced(ReduceOp::kMin, e, nothing), testing::Each(testing::IsNan()));
  }
}

// As ops/softmax.cc launches it. In place or not, which makes no difference.
std::vector<float> SoftmaxOf(const Extents& e, const std::vector<float>& input) {
  return InBothOrders([&](HostOrder order) {
    std::vector<float> data = input;
    const bool in_place = order == HostOrder::kBackward;
    SoftmaxKernel kernel(e.outer, e.length, e.inner, in_place ? data.data() : input.data(),
                         data.data());
    if (kernel.segments() > 1) {
      std::vector<ExponentialSum> partials(
          static_cast<std::size_t>(kernel.segments() * e.outer * e.inner), {NAN, NAN});
      kernel.set_step(SoftmaxKernel::Step::kAddUp, partials.data());
      RunOnHost(kernel, order);
      kernel.set_step(SoftmaxKernel::Step::kWrite, partials.data());
      RunOnHost(kernel, order);
    } else {
      RunOnHost(kernel, order);
    }
    return data;
  });
}

std::vector<float> ReferenceOf(const Extents& e, const std::vector<float>& input) {
  std::vector<float> output(input.size());
  reference::Run(ops::Softmax{.shape = {e.outer, e.length, e.inner},
                              .axis = 1,
                              .input = AddressOf(input),
                              .output = AddressOf(output)});
  return output;
}

TEST(SoftmaxKernelTest, AgreesWithTheReference) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const Extents& e : kShapes) {
    SCOPED_TRACE(testing::PrintToString(e));
    const std::vector<float> input = random.Floats(e.outer * e.length * e.inner, 30);
    ExpectClose(SoftmaxOf(e, input), ReferenceOf(e, input), 1e-5, 1e-35);
  }
}

TEST(SoftmaxKernelTest, KeepsItsDigitsWhileTheLargestGrows) {
  for (const std::int64_t length : {5'000, 100'000}) {
    std::vector<float> input(static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < input.size(); ++i) {
      input[i] = 10 * static_cast<float>(i) / static_cast<float>(length);
    }
    const Extents e{1, length, 1};
    ExpectClose(SoftmaxOf(e, input), ReferenceOf(e, input), 1e-5, 1e-35);
  }
}

TEST(SoftmaxKernelTest, SpreadsNanAndInfinityAsItShould) {
  for (const std::int64_t length : {3, 70, 3000, 40'000}) {
    SCOPED_TRACE(length);
    const Extents e{1, length, 1};
    for (const float special : {NAN, INFINITY, -INFINITY}) {
      for (const float other : {1.0f, NAN, -INFINITY}) {
        std::vector<float> input(static_cast<std::size_t>(length), other);
        input[1] = special;
        ExpectClose(SoftmaxOf(e, input), ReferenceOf(e, input), 1e-5, 1e-35);
      }
    }
  }
}

}  // namespace
}  // namespace acceld::cuda
