#include "backends/ops/attention.h"

#include <limits>

#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld::ops {
namespace {

constexpr std::int64_t kLimit = std::int64_t{1} << 31;

Attention Valid() {
  return {.batch = 2, .heads = 3, .seq_q = 5, .seq_kv = 7, .head_dim = 4, .scale = 0.5f};
}

TEST(AttentionTest, SizesAreAtLeast1AndBelow2To31) {
  EXPECT_THAT(Valid().Check(), IsOk());
  for (auto field : {&Attention::batch, &Attention::heads, &Attention::seq_q, &Attention::seq_kv,
                     &Attention::head_dim}) {
    for (std::int64_t bad : {std::int64_t{-1}, std::int64_t{0}, kLimit, 2 * kLimit,
                             std::numeric_limits<std::int64_t>::max()}) {
      Attention op = Valid();
      op.*field = bad;
      EXPECT_THAT(op.Check(), IsInvalid("it must be at least 1 and below 2147483648"));
    }
  }
}

TEST(AttentionTest, ScaleIsPositiveAndFinite) {
  using Limits = std::numeric_limits<float>;
  for (float scale : {Limits::denorm_min(), Limits::max()}) {
    Attention op = Valid();
    op.scale = scale;
    EXPECT_THAT(op.Check(), IsOk());
  }
  for (float scale :
       {0.0f, -0.0f, -1.0f, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
    Attention op = Valid();
    op.scale = scale;
    EXPECT_THAT(op.Check(), IsInvalid("it must be positive and finite"));
  }
}

TEST(AttentionTest, ArraysFitInto2To62Bytes) {
  Attention op = Valid();
  op.batch = 1 << 30;
  op.heads = 1;
  op.seq_q = 1 << 28;
  EXPECT_THAT(op.Check(), IsOk());
  op.seq_q += 1;
  EXPECT_THAT(op.Check(), IsInvalid("Argument q of attention"));
  op.seq_q = 1;
  op.seq_kv = kLimit - 1;
  EXPECT_THAT(op.Check(), IsInvalid("Argument k of attention"));
}

TEST(AttentionTest, ReadsQKVAndWritesOutput) {
  Attention op = Valid();
  const OperandList operands = op.Operands();
  ASSERT_EQ(operands.size(), 4u);
  EXPECT_EQ(operands[0].address, &op.q);
  EXPECT_EQ(operands[1].address, &op.k);
  EXPECT_EQ(operands[2].address, &op.v);
  EXPECT_EQ(operands[3].address, &op.output);
  EXPECT_TRUE(operands[0].ExtentBytes() == 2 * 3 * 5 * 4 * 4);
  EXPECT_TRUE(operands[1].ExtentBytes() == 2 * 3 * 7 * 4 * 4);
  EXPECT_TRUE(operands[2].ExtentBytes() == 2 * 3 * 7 * 4 * 4);
  EXPECT_TRUE(operands[3].ExtentBytes() == 2 * 3 * 5 * 4 * 4);
  EXPECT_EQ(operands[2].access, Access::kRead);
  EXPECT_EQ(operands[3].access, Access::kWrite);
}

TEST(AttentionTest, FlopsCountBothProducts) {
  EXPECT_GE(Valid().Flops(), 4.0 * 2 * 3 * 5 * 7 * 4);
  EXPECT_LE(Valid().Flops(), 8.0 * 2 * 3 * 5 * 7 * 4);
}

}  // namespace
}  // namespace acceld::ops
