#include <cmath>

#include "backends/reference/reference.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld {
namespace {

struct Data {
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;
};

Data RandomData(Random& random, const ops::Attention& op) {
  const std::int64_t heads = op.batch * op.heads;
  return {.q = random.Vector(heads * op.seq_q * op.head_dim),
          .k = random.Vector(heads * op.seq_kv * op.head_dim),
          .v = random.Vector(heads * op.seq_kv * op.head_dim)};
}

std::vector<float> RunOn(TestDevice& device, ops::Attention op, const Data& data) {
  std::vector<float> output(data.q.size(), NAN);
  op.q = AddressOf(data.q);
  op.k = AddressOf(data.k);
  op.v = AddressOf(data.v);
  op.output = AddressOf(output);
  EXPECT_THAT(device.Run(Op(op)), IsOk());
  return output;
}

std::vector<float> Expected(ops::Attention op, const Data& data) {
  std::vector<float> output(data.q.size());
  op.q = AddressOf(data.q);
  op.k = AddressOf(data.k);
  op.v = AddressOf(data.v);
  op.output = AddressOf(output);
  reference::Run(op);
  return output;
}

TEST(CpuAttention, AgreesWithTheReference) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (int i = 0; i < 40; ++i) {
    const std::int64_t longest = random.Pick<std::int64_t>({5, 70, 300});
    ops::Attention op{.batch = random.Integer(1, 2),
                      .heads = random.Integer(1, 3),
                      .seq_q = random.Integer(1, longest),
                      .seq_kv = random.Integer(1, longest),
                      .head_dim = random.Integer(1, 40)};
    op.scale = random.Pick({0.125f, 1.0f, 20.0f});
    op.causal = random.Integer(0, 1) == 1;
    const Data data = RandomData(random, op);
    ExpectClose(RunOn(device, op, data), Expected(op, data), 1e-5, 2e-5 * std::max(1.0f, op.scale));
  }
}

// Rows of scores shorter than those of more keys, and around their length.
TEST(CpuAttention, AgreesWithTheReferenceOnFewKeys) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const std::int64_t seq_kv : {1, 2, 7, 8, 9}) {
    for (const bool causal : {false, true}) {
      ops::Attention op{.batch = 1, .heads = 3, .seq_kv = seq_kv, .head_dim = 17};
      op.seq_q = random.Integer(1, 150);
      op.scale = random.Pick({0.125f, 20.0f});
      op.causal = causal;
      const Data data = RandomData(random, op);
      ExpectClose(RunOn(device, op, data), Expected(op, data), 1e-5,
                  2e-5 * std::max(1.0f, op.scale));
    }
  }
}

// Few queries against many keys, which the threads share out, and more than a block of queries.
TEST(CpuAttention, AgreesWithTheReferenceOnLongSequences) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const std::int64_t seq_q : {1, 3, 131, 700}) {
    for (const std::int64_t seq_kv : {600, 1537, 5000}) {
      ops::Attention op{.batch = 1,
                        .heads = random.Integer(1, 3),
                        .seq_q = seq_q,
                        .seq_kv = seq_kv,
                        .head_dim = random.Pick<std::int64_t>({1, 7, 32}),
                        .scale = 0.5f};
      op.causal = random.Integer(0, 1) == 1;
      const Data data = RandomData(random, op);
      ExpectClose(RunOn(device, op, data), Expected(op, data), 1e-5, 2e-5);
    }
  }
}

// The scores of all queries and keys would be 64 MiB.
TEST(CpuAttention, TakesNoMemoryOfTheClientsForLongSequences) {
  TestDevice device({.threads = 2, .memory_limit_bytes = 1 << 20});
  Random random;
  SCOPED_TRACE(random.Trace());
  const ops::Attention op{.batch = 1, .heads = 1, .seq_q = 4096, .seq_kv = 4096, .head_dim = 8};
  const Data data = RandomData(random, op);
  ExpectClose(RunOn(device, op, data), Expected(op, data), 1e-5, 2e-5);
}

// One block of queries, whose keys are shared out: the scores of so many threads leave little room
// for the parts' outputs.
TEST(CpuAttention, TakesNoMemoryOfTheClientsForTheirThreads) {
  for (const int threads : {48, 100}) {
    TestDevice device({.threads = threads, .memory_limit_bytes = 1 << 20});
    Random random;
    SCOPED_TRACE(random.Trace());
    const ops::Attention op{
        .batch = 1, .heads = 1, .seq_q = 128, .seq_kv = 1 << 17, .head_dim = 64, .scale = 0.125f};
    const Data data = RandomData(random, op);
    const auto output = RunOn(device, op, data);
    EXPECT_THAT(output, testing::Each(testing::Lt(1)));
  }
}

TEST(CpuAttention, GivesZerosToQueriesThatSeeNoKey) {
  TestDevice device;
  Random random;
  for (const auto& [seq_q, seq_kv] :
       {std::pair<std::int64_t, std::int64_t>{5, 2}, {300, 101}, {2000, 1500}}) {
    const ops::Attention op{
        .batch = 1, .heads = 1, .seq_q = seq_q, .seq_kv = seq_kv, .head_dim = 3, .causal = true};
    const Data data = RandomData(random, op);
    const auto output = RunOn(device, op, data);
    const auto first_seen = static_cast<std::size_t>(3 * (seq_q - seq_kv));
    for (std::size_t i = 0; i < first_seen; ++i) EXPECT_EQ(output[i], 0.0f);
    EXPECT_NE(output[first_seen], 0.0f);
  }
}

TEST(CpuAttention, DoesNotSpreadNaNOfKeysAndValuesThatAQueryDoesNotSee) {
  TestDevice device;
  Random random;
  for (const std::size_t length : {100u, 130u, 1100u}) {
    const ops::Attention op{.batch = 1,
                            .heads = 1,
                            .seq_q = static_cast<std::int64_t>(length),
                            .seq_kv = static_cast<std::int64_t>(length),
                            .head_dim = 4,
                            .causal = true};
    // The keys and values from `first` on are NaN.
    for (const std::size_t first : {length - 1, length - 37, length / 2}) {
      Data data = RandomData(random, op);
      const auto clean = RunOn(device, op, data);
      for (std::size_t i = first * 4; i < length * 4; ++i) data.k[i] = data.v[i] = NAN;
      const auto output = RunOn(device, op, data);
      for (std::size_t i = 0; i < first * 4; ++i) ASSERT_EQ(output[i], clean[i]) << i;
      for (std::size_t i = first * 4; i < length * 4; ++i) ASSERT_TRUE(std::isnan(output[i])) << i;
    }
  }
}

TEST(CpuAttention, TakesInfiniteScoresAsTheReference) {
  TestDevice device;
  Random random;
  // More keys than a block, of which the first block's scores are all minus infinity.
  const ops::Attention op{.batch = 1, .heads = 1, .seq_q = 3, .seq_kv = 200, .head_dim = 1};
  Data data = RandomData(random, op);
  data.q = {1, 1, 1};
  for (std::size_t i = 0; i < 150; ++i) data.k[i] = -INFINITY;
  ExpectClose(RunOn(device, op, data), Expected(op, data), 1e-5, 1e-5);
  for (float& key : data.k) key = -INFINITY;
  EXPECT_THAT(RunOn(device, op, data), testing::Each(testing::IsNan()));
  data.k[170] = INFINITY;
  EXPECT_THAT(RunOn(device, op, data), testing::Each(testing::IsNan()));
}

TEST(CpuAttention, TakesInfiniteScoresAsTheReferenceWhereKeysAreSplit) {
  TestDevice device;
  Random random;
  const ops::Attention op{.batch = 1, .heads = 1, .seq_q = 1, .seq_kv = 4000, .head_dim = 1};
  Data data = RandomData(random, op);
  data.q = {1};
  // Whole parts, from the first or the last on.
  for (std::size_t i = 0; i < 2500; ++i) data.k[i] = -INFINITY;
  ExpectClose(RunOn(device, op, data), Expected(op, data), 1e-5, 1e-5);
  std::reverse(data.k.begin(), data.k.end());
  ExpectClose(RunOn(device, op, data), Expected(op, data), 1e-5, 1e-5);
  data.k[100] = INFINITY;
  EXPECT_THAT(RunOn(device, op, data), testing::Each(testing::IsNan()));
  data.k[100] = NAN;
  EXPECT_THAT(RunOn(device, op, data), testing::Each(testing::IsNan()));
  for (float& key : data.k) key = -INFINITY;
  EXPECT_THAT(RunOn(device, op, data), testing::Each(testing::IsNan()));
}

TEST(CpuAttention, DoesNotOverflowForLargeScores) {
  TestDevice device;
  const ops::Attention op{
      .batch = 1, .heads = 1, .seq_q = 1, .seq_kv = 2, .head_dim = 1, .scale = 1000};
  EXPECT_THAT(RunOn(device, op, {.q = {1}, .k = {100, 90}, .v = {5, 7}}), testing::ElementsAre(5));
}

}  // namespace
}  // namespace acceld
