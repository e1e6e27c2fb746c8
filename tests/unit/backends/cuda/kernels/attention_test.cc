#include "backends/ops/attention.h"

#include "backends/reference/reference.h"
#include "tests/unit/backends/cuda/kernels/testing.h"

namespace acceld::cuda {
namespace {

// The array that does not begin at an aligned address.
enum class Misplaced { kNone, kQ, kK, kV, kOutput };

// What one op's arrays are.
struct Arrays {
  Arrays(Random& random, const AttentionShape& shape, Misplaced misplaced = Misplaced::kNone)
      : q(random.Floats(shape.heads * shape.seq_q * shape.head_dim, 2),
          misplaced == Misplaced::kQ ? 1 : 0),
        k(random.Floats(shape.heads * shape.seq_kv * shape.head_dim, 2),
          misplaced == Misplaced::kK ? 2 : 0),
        v(random.Floats(shape.heads * shape.seq_kv * shape.head_dim),
          misplaced == Misplaced::kV ? 3 : 0),
        output_offset(misplaced == Misplaced::kOutput ? 1 : 0) {}

  Placed q;
  Placed k;
  Placed v;
  int output_offset;
};

Kernel KernelFor(int dims, const AttentionShape& shape, Arrays& arrays, float* output) {
  if (dims == 64) {
    return AttentionKernel<64>(shape, arrays.q.data(), arrays.k.data(), arrays.v.data(), output);
  }
  if (dims == 128) {
    return AttentionKernel<128>(shape, arrays.q.data(), arrays.k.data(), arrays.v.data(), output);
  }
  return AttentionKernel<256>(shape, arrays.q.data(), arrays.k.data(), arrays.v.data(), output);
}

std::vector<float> AttentionOf(int dims, const AttentionShape& shape, Arrays& arrays) {
  return InBothOrders([&](HostOrder order) {
    const std::int64_t count = shape.heads * shape.seq_q * shape.head_dim;
    Placed output(std::vector<float>(static_cast<std::size_t>(count), NAN), arrays.output_offset);
    RunOnHost(KernelFor(dims, shape, arrays, output.data()), order);
    output.ExpectNothingAroundChanged();
    return output.values();
  });
}

std::vector<float> ReferenceOf(const AttentionShape& shape, Arrays& arrays) {
  std::vector<float> output(static_cast<std::size_t>(shape.heads * shape.seq_q * shape.head_dim));
  reference::Run(ops::Attention{.batch = 1,
                                .heads = shape.heads,
                                .seq_q = shape.seq_q,
                                .seq_kv = shape.seq_kv,
                                .head_dim = shape.head_dim,
                                .scale = shape.scale,
                                .causal = shape.causal,
                                .q = reinterpret_cast<Address>(arrays.q.data()),
                                .k = reinterpret_cast<Address>(arrays.k.data()),
                                .v = reinterpret_cast<Address>(arrays.v.data()),
                                .output = AddressOf(output)});
  return output;
}

void ExpectLikeReference(Random& random, int dims, const AttentionShape& shape,
                         Misplaced misplaced = Misplaced::kNone) {
  SCOPED_TRACE(testing::Message() << shape.heads << " heads, " << shape.seq_q << " queries, "
                                  << shape.seq_kv << " keys, head_dim " << shape.head_dim
                                  << ", causal " << shape.causal << ", dims " << dims
                                  << ", misplaced " << static_cast<int>(misplaced));
  Arrays arrays(random, shape, misplaced);
  ExpectClose(AttentionOf(dims, shape, arrays), ReferenceOf(shape, arrays), 0, 1e-5);
}

TEST(AttentionKernelTest, AgreesWithTheReference) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (int i = 0; i < 40; ++i) {
    ExpectLikeReference(random, random.Pick({64, 128, 256}),
                        {.heads = random.Integer(1, 3),
                         .seq_q = random.Pick<std::int64_t>({1, 2, 63, 64, 65, 130}),
                         .seq_kv = random.Pick<std::int64_t>({1, 3, 63, 64, 65, 200}),
                         .head_dim = random.Pick<std::int64_t>({1, 5, 32, 64, 66, 80, 128}),
                         .scale = 0.3f,
                         .causal = i % 2 == 1},
                        static_cast<Misplaced>(random.Integer(0, 4)));
  }
}

TEST(AttentionKernelTest, SharesOutLargeHeads) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const std::int64_t head_dim : {255, 256, 257, 300, 600}) {
    ExpectLikeReference(random, 256,
                        {.heads = 2,
                         .seq_q = 70,
                         .seq_kv = 90,
                         .head_dim = head_dim,
                         .scale = 0.05f,
                         .causal = head_dim % 2 == 1});
  }
}

TEST(AttentionKernelTest, IsCausalWithFewerEqualAndMoreQueriesThanKeys) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const std::int64_t seq_q : {1, 7, 64, 100, 200}) {
    for (const std::int64_t seq_kv : {1, 9, 64, 101, 190}) {
      ExpectLikeReference(
          random, 64,
          {.heads = 1, .seq_q = seq_q, .seq_kv = seq_kv, .head_dim = 8, .causal = true});
    }
  }
}

TEST(AttentionKernelTest, GivesZerosForQueriesThatSeeNoKey) {
  Random random;
  SCOPED_TRACE(random.Trace());
  const AttentionShape shape{.heads = 1, .seq_q = 150, .seq_kv = 10, .head_dim = 4, .causal = true};
  Arrays arrays(random, shape);
  const std::vector<float> output = AttentionOf(64, shape, arrays);
  EXPECT_EQ(std::vector<float>(output.begin(), output.begin() + 140 * 4),
            std::vector<float>(140 * 4, 0));
}

TEST(AttentionKernelTest, IsNotTouchedByWhatAQueryDoesNotSee) {
  Random random;
  SCOPED_TRACE(random.Trace());
  const AttentionShape shape{
      .heads = 1, .seq_q = 100, .seq_kv = 100, .head_dim = 4, .causal = true};
  for (const float special : {NAN, INFINITY}) {
    Arrays arrays(random, shape);
    const std::vector<float> before = AttentionOf(64, shape, arrays);
    for (int d = 0; d < 4; ++d) {
      arrays.k.data()[70 * 4 + d] = special;
      arrays.v.data()[70 * 4 + d] = special;
    }
    const std::vector<float> after = AttentionOf(64, shape, arrays);
    EXPECT_EQ(std::vector<float>(after.begin(), after.begin() + 70 * 4),
              std::vector<float>(before.begin(), before.begin() + 70 * 4));
    EXPECT_TRUE(std::isnan(after[70 * 4]));
  }
}

TEST(AttentionKernelTest, TakesScoresOfMinusInfinity) {
  Random random;
  SCOPED_TRACE(random.Trace());
  const AttentionShape shape{.heads = 1, .seq_q = 3, .seq_kv = 150, .head_dim = 1};
  for (const int finite : {0, 149}) {
    Arrays arrays(random, shape);
    for (int i = 0; i < 3; ++i) arrays.q.data()[i] = 1;
    for (int j = 0; j < 150; ++j) arrays.k.data()[j] = j == finite ? 1 : -INFINITY;
    for (const float x : AttentionOf(64, shape, arrays)) EXPECT_EQ(x, arrays.v.data()[finite]);
  }
}

}  // namespace
}  // namespace acceld::cuda
