#include <cmath>
#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

class AttentionTest : public ConformanceTest {
 protected:
  void CompareOn(ops::Attention op) {
    const auto q = random_.Floats(op.batch * op.heads * op.seq_q * op.head_dim, -2, 2);
    const auto k = random_.Floats(op.batch * op.heads * op.seq_kv * op.head_dim, -2, 2);
    const auto v = random_.Floats(op.batch * op.heads * op.seq_kv * op.head_dim);
    std::vector<float> output(q.size(), kNan);
    op.q = HostAddress(q);
    op.k = HostAddress(k);
    op.v = HostAddress(v);
    op.output = HostAddress(output);
    SCOPED_TRACE(testing::Message() << "batch " << op.batch << " heads " << op.heads << " seq_q "
                                    << op.seq_q << " seq_kv " << op.seq_kv << " head_dim "
                                    << op.head_dim << " causal " << op.causal);
    RunBoth(op);
  }

  // On one head, with an output that began as NaN.
  std::vector<float> Attend(ops::Attention op, const std::vector<float>& q,
                            const std::vector<float>& k, const std::vector<float>& v) {
    op.batch = op.heads = 1;
    op.q = Upload(q);
    op.k = Upload(k);
    op.v = Upload(v);
    op.output = Upload(std::vector<float>(q.size(), kNan));
    EXPECT_TRUE(IsOk(backend().Attention(op)));
    return Floats(op.output, q.size());
  }
};

TEST_F(AttentionTest, MatchesTheReferenceOnRandomSizes) {
  for (int i = 0; i < 16; ++i) {
    CompareOn({.batch = random_.Integer(1, 3),
               .heads = random_.Integer(1, 3),
               .seq_q = random_.Integer(1, 40),
               .seq_kv = random_.Integer(1, 40),
               .head_dim = random_.Integer(1, 40),
               .scale = static_cast<float>(random_.Real(0.05, 1.5)),
               .causal = i % 2 == 1});
  }
}

TEST_F(AttentionTest, MatchesTheReferenceOnLongSequences) {
  for (const bool causal : {false, true}) {
    CompareOn({.batch = 1,
               .heads = 2,
               .seq_q = 193,
               .seq_kv = 331,
               .head_dim = 64,
               .scale = 0.125f,
               .causal = causal});
  }
}

TEST_F(AttentionTest, MatchesTheReferenceOnRandomOddSizes) {
  for (int i = 0; i < 10; ++i) {
    CompareOn({.batch = random_.Integer(1, 2),
               .heads = random_.Integer(1, 2),
               .seq_q = random_.OddLength(600),
               .seq_kv = random_.OddLength(600),
               .head_dim = random_.OddLength(130),
               .scale = static_cast<float>(random_.Real(0.05, 0.5)),
               .causal = i % 2 == 1});
  }
}

TEST_F(AttentionTest, MatchesTheReferenceOnSizesOfOne) {
  CompareOn({.batch = 1, .heads = 1, .seq_q = 1, .seq_kv = 1, .head_dim = 1});
  CompareOn({.batch = 1, .heads = 1, .seq_q = 1, .seq_kv = 50, .head_dim = 1, .causal = true});
  CompareOn({.batch = 1, .heads = 1, .seq_q = 50, .seq_kv = 1, .head_dim = 3, .causal = true});
}

TEST_F(AttentionTest, IsCausalWithFewerEqualAndMoreQueriesThanKeys) {
  for (const auto& [seq_q, seq_kv] :
       {std::pair<std::int64_t, std::int64_t>{3, 7}, {7, 7}, {7, 3}, {1, 9}, {40, 90}, {90, 40}}) {
    CompareOn({.batch = 2,
               .heads = 2,
               .seq_q = seq_q,
               .seq_kv = seq_kv,
               .head_dim = 5,
               .scale = 0.5f,
               .causal = true});
  }
}

// With equal scores, each output is the mean of the values its query sees.
TEST_F(AttentionTest, SeesTheKeysUpToItsOwnPositionFromTheEnd) {
  const ops::Attention op{.seq_q = 2, .seq_kv = 3, .head_dim = 1, .causal = true};
  const std::vector<float> output = Attend(op, {0, 0}, {1, 1, 1}, {3, 6, 12});
  EXPECT_NEAR(output[0], (3 + 6) / 2.0f, 1e-5f);
  EXPECT_NEAR(output[1], (3 + 6 + 12) / 3.0f, 1e-5f);
}

TEST_F(AttentionTest, GivesZerosForQueriesThatSeeNoKey) {
  const ops::Attention op{.seq_q = 4, .seq_kv = 2, .head_dim = 3, .causal = true};
  const std::vector<float> output =
      Attend(op, random_.Floats(12), random_.Floats(6), {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(std::vector<float>(output.begin(), output.begin() + 6), std::vector<float>(6, 0));
  // The third sees the first key alone.
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(output[6 + i], 1 + i, 1e-5f);
}

// A weight of zero times NaN would be NaN.
TEST_F(AttentionTest, IsNotTouchedByNansInKeysAndValuesItDoesNotSee) {
  for (const std::int64_t length : {4, 100}) {
    const ops::Attention op{.seq_q = length, .seq_kv = length, .head_dim = 2, .causal = true};
    const std::size_t count = static_cast<std::size_t>(2 * length);
    const auto q = random_.Floats(2 * length);
    auto k = random_.Floats(2 * length);
    auto v = random_.Floats(2 * length);
    const std::vector<float> clean = Attend(op, q, k, v);
    k[count - 1] = kNan;
    v[count - 2] = kInfinity;
    const std::vector<float> found = Attend(op, q, k, v);
    for (std::size_t i = 0; i + 2 < count; ++i) EXPECT_NEAR(found[i], clean[i], 1e-5f) << i;
    EXPECT_TRUE(std::isnan(found[count - 1]));
  }
}

TEST_F(AttentionTest, SpreadsANanInAQueryOnlyToItsOutput) {
  const ops::Attention op{.seq_q = 5, .seq_kv = 6, .head_dim = 2};
  auto q = random_.Floats(10);
  q[4] = kNan;
  const std::vector<float> output = Attend(op, q, random_.Floats(12), random_.Floats(12));
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(std::isnan(output[i]), i / 2 == 2) << i;
}

TEST_F(AttentionTest, MultipliesByItsScale) {
  // Scores 0 and scale * 1.
  const float scale = std::log(3.0f);
  const ops::Attention op{.seq_q = 1, .seq_kv = 2, .head_dim = 1, .scale = scale};
  EXPECT_NEAR(Attend(op, {1}, {0, 1}, {0, 1})[0], 0.75f, 1e-5f);
}

TEST_F(AttentionTest, DoesNotOverflowOnLargeScores) {
  const ops::Attention op{.seq_q = 1, .seq_kv = 3, .head_dim = 1, .scale = 1000};
  EXPECT_EQ(Attend(op, {100}, {1, 2, -3}, {5, 7, 9})[0], 7);
  EXPECT_EQ(Attend(op, {-100}, {1, 2, 3}, {5, 7, 9})[0], 5);
  // Every score far below zero.
  EXPECT_NEAR(Attend(op, {-100}, {2, 2, 2}, {3, 6, 9})[0], 6, 1e-4f);
}

TEST_F(AttentionTest, TakesOneArrayAsQueriesKeysAndValues) {
  const auto x = random_.Floats(2 * 3 * 10 * 8);
  std::vector<float> output(x.size());
  RunBoth(ops::Attention{.batch = 2,
                         .heads = 3,
                         .seq_q = 10,
                         .seq_kv = 10,
                         .head_dim = 8,
                         .scale = 0.3f,
                         .q = HostAddress(x),
                         .k = HostAddress(x),
                         .v = HostAddress(x),
                         .output = HostAddress(output)});
}

TEST_F(AttentionTest, RefusesZeroNegativeAndHugeSizes) {
  const Address room = Alloc(4096);
  const Address output = Alloc(4096);
  struct Size {
    std::int64_t ops::Attention::*field;
    std::string_view name;
  };
  for (const Size& size :
       {Size{&ops::Attention::batch, "batch"}, Size{&ops::Attention::heads, "heads"},
        Size{&ops::Attention::seq_q, "seq_q"}, Size{&ops::Attention::seq_kv, "seq_kv"},
        Size{&ops::Attention::head_dim, "head_dim"}}) {
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31}) {
      ops::Attention op{.batch = 2, .heads = 2, .seq_q = 2, .seq_kv = 2, .head_dim = 2};
      op.q = op.k = op.v = room;
      op.output = output;
      op.*size.field = value;
      EXPECT_TRUE(IsInvalidArgument(backend().Attention(op),
                                    {"attention", size.name, std::to_string(value)}));
    }
  }
}

TEST_F(AttentionTest, RefusesAScaleThatIsNotPositiveAndFinite) {
  const Address room = Alloc(64);
  for (const float scale : {0.0f, -0.0f, -1.0f, kInfinity, -kInfinity, kNan}) {
    ops::Attention op{
        .batch = 1, .heads = 1, .seq_q = 1, .seq_kv = 1, .head_dim = 1, .scale = scale};
    op.q = op.k = op.v = room;
    op.output = Alloc(4);
    EXPECT_TRUE(IsInvalidArgument(backend().Attention(op), {"attention", "scale"})) << scale;
  }
}

TEST_F(AttentionTest, RefusesArraysBeyondAnyAllocationWithoutOverflow) {
  const std::int64_t large = (std::int64_t{1} << 31) - 1;
  const Address room = Alloc(64);
  ops::Attention op{
      .batch = large, .heads = large, .seq_q = large, .seq_kv = large, .head_dim = large};
  op.q = op.k = op.v = room;
  op.output = Alloc(64);
  EXPECT_TRUE(IsInvalidArgument(backend().Attention(op), {"attention"}));
}

}  // namespace
}  // namespace acceld::conformance
