// What kernels say that they use of the device's memory.
#include <tuple>

#include "gmock/gmock.h"
#include "tests/unit/backends/cuda/kernels/testing.h"

namespace acceld::cuda {
namespace {

using testing::ElementsAre;

// Data, bytes, and whether it is written.
using Used = std::tuple<const void*, std::uint64_t, bool>;

// Those of more than no bytes.
template <typename K>
std::vector<Used> OperandsOf(const K& kernel) {
  std::vector<Used> operands;
  for (const auto& [data, bytes, writes] : kernel.operands()) {
    if (bytes > 0) operands.emplace_back(data, bytes, writes);
  }
  return operands;
}

// Arrays that nobody looks into.
alignas(16) float in[4];
alignas(16) float other[4];
alignas(16) float third[4];
alignas(16) float out[4];
alignas(16) double partials[4];

TEST(KernelOperandsTest, OfElements) {
  EXPECT_THAT(OperandsOf(UnaryKernel(UnaryOp::kExp, 100, in, out)),
              ElementsAre(Used(in, 400, false), Used(out, 400, true)));
  EXPECT_THAT(OperandsOf(BinaryKernel(BinaryOp::kAdd, 7, in, other, out)),
              ElementsAre(Used(in, 28, false), Used(other, 28, false), Used(out, 28, true)));
}

TEST(KernelOperandsTest, OfRows) {
  const std::int64_t indices[] = {4, 1};
  EXPECT_THAT(OperandsOf(CopyRowsKernel(2, 8, in, {indices, 5}, out, {})),
              ElementsAre(Used(in, 160, false), Used(indices, 16, false), Used(out, 64, true)));
  EXPECT_THAT(OperandsOf(CopyRowsKernel(2, 7, in, {}, out, {indices, 5})),
              ElementsAre(Used(in, 56, false), Used(out, 140, true), Used(indices, 16, false)));
}

TEST(KernelOperandsTest, OfMatrices) {
  EXPECT_THAT(OperandsOf(ScaleKernel<float>(3, 4, 2, out, 5)),
              ElementsAre(Used(out, (3 * 5 + 3) * 4, true)));
  EXPECT_THAT(OperandsOf(ScaleKernel<double>(3, 4, 2, partials, 5, 30, 2)),
              ElementsAre(Used(partials, (30 + 3 * 5 + 3) * 8, true)));
  auto* const halves = reinterpret_cast<std::uint16_t*>(out);
  for (const std::int64_t rows : {3, 8}) {
    EXPECT_THAT(
        OperandsOf(RoundKernel(MixedPrecision::kF16, rows, 4, in, 16, halves, 8)),
        ElementsAre(Used(in, (3 * 16 + rows) * 4, false), Used(halves, (3 * 8 + rows) * 2, true)));
  }
}

TEST(KernelOperandsTest, OfAxes) {
  EXPECT_THAT(OperandsOf(ReduceKernel<float>(ReduceOp::kSum, 2, 3, 5, 1, in, out)),
              ElementsAre(Used(in, 120, false), Used(out, 40, true)));
  constexpr std::int64_t kLong = 1 << 20;
  ReduceKernel<float> cut(ReduceOp::kSum, 1, kLong, 2, 1, in, out);
  cut.set_partials(partials);
  const auto segments = static_cast<std::uint64_t>(cut.segments());
  ASSERT_GT(segments, 1u);
  EXPECT_THAT(OperandsOf(cut),
              ElementsAre(Used(in, kLong * 2 * 4, false), Used(partials, segments * 2 * 8, true)));
}

TEST(KernelOperandsTest, OfSoftmax) {
  EXPECT_THAT(OperandsOf(SoftmaxKernel(2, 3, 5, in, out)),
              ElementsAre(Used(in, 120, false), Used(out, 120, true)));
  constexpr std::int64_t kLong = 1 << 20;
  SoftmaxKernel cut(1, kLong, 2, in, out);
  ExponentialSum sums{};
  const std::uint64_t sum_bytes =
      static_cast<std::uint64_t>(cut.segments()) * 2 * sizeof(ExponentialSum);
  cut.set_step(SoftmaxKernel::Step::kAddUp, &sums);
  EXPECT_THAT(OperandsOf(cut),
              ElementsAre(Used(in, kLong * 8, false), Used(&sums, sum_bytes, true)));
  cut.set_step(SoftmaxKernel::Step::kWrite, &sums);
  EXPECT_THAT(OperandsOf(cut), ElementsAre(Used(in, kLong * 8, false), Used(out, kLong * 8, true),
                                           Used(&sums, sum_bytes, false)));
}

TEST(KernelOperandsTest, OfAttention) {
  AttentionShape shape{.heads = 2, .seq_q = 100, .seq_kv = 30, .head_dim = 5};
  EXPECT_THAT(OperandsOf(AttentionKernel<64>(shape, in, other, third, out)),
              ElementsAre(Used(in, 4000, false), Used(other, 1200, false), Used(third, 1200, false),
                          Used(out, 4000, true)));
  shape.seq_q = 1;
  shape.seq_kv = 5000;
  FewQueriesAttentionKernel cut(shape, in, other, third, out);
  ASSERT_GT(cut.segments(), 1);
  const std::uint64_t bytes = AttentionPartials::Bytes(shape, cut.segments());
  const AttentionPartials of_segments = AttentionPartials::In(partials, shape, cut.segments());
  cut.set_partials(of_segments);
  EXPECT_THAT(OperandsOf(cut),
              ElementsAre(Used(in, 40, false), Used(other, 200'000, false),
                          Used(third, 200'000, false), Used(partials, bytes, true)));
  EXPECT_THAT(OperandsOf(AttentionMergeKernel(shape, cut.segments(), of_segments, out)),
              ElementsAre(Used(partials, bytes, false), Used(out, 40, true)));
}

}  // namespace
}  // namespace acceld::cuda
