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

// The kernel for so many elements of a head, or for few queries.
enum class Variant { k64, k128, k256, kFew };
using enum Variant;

// Runs the kernel, and where it cuts the keys into segments the one that merges them.
template <typename K>
void Attend(const AttentionShape& shape, Arrays& arrays, float* output, HostOrder order) {
  K kernel(shape, arrays.q.data(), arrays.k.data(), arrays.v.data(), output);
  const std::int64_t segments = kernel.segments();
  if (segments == 1) return RunOnHost(Kernel(kernel), order);
  // NaNs.
  std::vector<Float4> memory(AttentionPartials::Bytes(shape, segments) / sizeof(Float4) + 1);
  std::memset(memory.data(), 0xff, memory.size() * sizeof(Float4));
  const AttentionPartials partials = AttentionPartials::In(memory.data(), shape, segments);
  kernel.set_partials(partials);
  RunOnHost(Kernel(kernel), order);
  RunOnHost(Kernel(AttentionMergeKernel(shape, segments, partials, output)), order);
}

std::vector<float> AttentionOf(Variant variant, const AttentionShape& shape, Arrays& arrays) {
  return InBothOrders([&](HostOrder order) {
    const std::int64_t count = shape.heads * shape.seq_q * shape.head_dim;
    Placed output(std::vector<float>(static_cast<std::size_t>(count), NAN), arrays.output_offset);
    switch (variant) {
      case k64:
        Attend<AttentionKernel<64>>(shape, arrays, output.data(), order);
        break;
      case k128:
        Attend<AttentionKernel<128>>(shape, arrays, output.data(), order);
        break;
      case k256:
        Attend<AttentionKernel<256>>(shape, arrays, output.data(), order);
        break;
      case kFew:
        Attend<FewQueriesAttentionKernel>(shape, arrays, output.data(), order);
        break;
    }
    output.ExpectNothingAroundChanged();
    return output.values();
  });
}

template <typename K>
std::int64_t SegmentsOf(const AttentionShape& shape) {
  return K(shape, nullptr, nullptr, nullptr, nullptr).segments();
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

void ExpectLikeReference(Random& random, Variant variant, const AttentionShape& shape,
                         Misplaced misplaced = Misplaced::kNone) {
  SCOPED_TRACE(testing::Message() << shape.heads << " heads, " << shape.seq_q << " queries, "
                                  << shape.seq_kv << " keys, head_dim " << shape.head_dim
                                  << ", causal " << shape.causal << ", variant "
                                  << static_cast<int>(variant) << ", misplaced "
                                  << static_cast<int>(misplaced));
  Arrays arrays(random, shape, misplaced);
  ExpectClose(AttentionOf(variant, shape, arrays), ReferenceOf(shape, arrays), 0, 1e-5);
}

TEST(AttentionKernelTest, AgreesWithTheReference) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (int i = 0; i < 50; ++i) {
    ExpectLikeReference(random, random.Pick({k64, k128, k256, kFew}),
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
    ExpectLikeReference(random, k256,
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
          random, seq_q <= kFewQueries ? kFew : k64,
          {.heads = 1, .seq_q = seq_q, .seq_kv = seq_kv, .head_dim = 8, .causal = true});
    }
  }
}

TEST(AttentionKernelTest, GivesZerosForQueriesThatSeeNoKey) {
  Random random;
  SCOPED_TRACE(random.Trace());
  const AttentionShape shape{.heads = 1, .seq_q = 150, .seq_kv = 10, .head_dim = 4, .causal = true};
  Arrays arrays(random, shape);
  const std::vector<float> output = AttentionOf(k64, shape, arrays);
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
    const std::vector<float> before = AttentionOf(k64, shape, arrays);
    for (int d = 0; d < 4; ++d) {
      arrays.k.data()[70 * 4 + d] = special;
      arrays.v.data()[70 * 4 + d] = special;
    }
    const std::vector<float> after = AttentionOf(k64, shape, arrays);
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
    for (const float x : AttentionOf(k64, shape, arrays)) EXPECT_EQ(x, arrays.v.data()[finite]);
  }
}

// ---- Keys in segments ----

TEST(AttentionKernelTest, CutsTheKeysWhereThereAreFewBlocksAndByTheShapeAlone) {
  const auto decoding = [](std::int64_t heads, std::int64_t keys, std::int64_t head_dim = 128) {
    return SegmentsOf<FewQueriesAttentionKernel>(
        {.heads = heads, .seq_q = 1, .seq_kv = keys, .head_dim = head_dim});
  };
  EXPECT_EQ(decoding(32, 1), 1);
  EXPECT_EQ(decoding(32, 128), 1);
  EXPECT_EQ(decoding(32, 129), 2);
  EXPECT_EQ(decoding(32, 2048), 16);
  EXPECT_EQ(decoding(32, 8192), 32);
  EXPECT_EQ(decoding(1, 1 << 20), 128);
  EXPECT_EQ(decoding(512, 8192), 2);
  EXPECT_EQ(decoding(513, 8192), 1);
  EXPECT_EQ(decoding(512, 8192, 257), 1);
  const auto reading = [](std::int64_t heads, std::int64_t queries) {
    return SegmentsOf<AttentionKernel<128>>(
        {.heads = heads, .seq_q = queries, .seq_kv = 4096, .head_dim = 128});
  };
  EXPECT_EQ(reading(8, 64), 32);
  EXPECT_EQ(reading(8, 1024), 4);
  EXPECT_EQ(reading(32, 1024), 1);
}

TEST(AttentionKernelTest, InSegmentsAgreesWithTheReference) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (int i = 0; i < 24; ++i) {
    ExpectLikeReference(random, kFew,
                        {.heads = random.Integer(1, 3),
                         .seq_q = random.Integer(1, 8),
                         .seq_kv = random.Pick<std::int64_t>({129, 192, 257, 1000, 1027}),
                         .head_dim = random.Pick<std::int64_t>({1, 5, 64, 66, 128, 255, 256, 300}),
                         .scale = 0.2f,
                         .causal = i % 2 == 1},
                        static_cast<Misplaced>(random.Integer(0, 4)));
  }
  for (const Variant variant : {k64, k128, k256}) {
    for (int i = 0; i < 4; ++i) {
      ExpectLikeReference(random, variant,
                          {.heads = random.Integer(1, 2),
                           .seq_q = random.Pick<std::int64_t>({9, 65, 130}),
                           .seq_kv = random.Pick<std::int64_t>({129, 300, 401}),
                           .head_dim = variant == k64    ? 33
                                       : variant == k128 ? 128
                                                         : 254,
                           .scale = 0.2f,
                           .causal = i % 2 == 1},
                          static_cast<Misplaced>(random.Integer(0, 4)));
    }
  }
}

TEST(AttentionKernelTest, InSegmentsGivesZerosForQueriesThatSeeNoKey) {
  Random random;
  SCOPED_TRACE(random.Trace());
  const AttentionShape shape{
      .heads = 2, .seq_q = 300, .seq_kv = 190, .head_dim = 4, .causal = true};
  EXPECT_EQ(SegmentsOf<AttentionKernel<64>>(shape), 2);
  Arrays arrays(random, shape);
  const std::vector<float> output = AttentionOf(k64, shape, arrays);
  ExpectClose(output, ReferenceOf(shape, arrays), 0, 1e-5);
  for (int head = 0; head < 2; ++head) {
    const auto first = output.begin() + head * 300 * 4;
    EXPECT_EQ(std::vector<float>(first, first + 110 * 4), std::vector<float>(110 * 4, 0));
  }
}

// Query i sees the keys up to 992 + i.
TEST(AttentionKernelTest, InSegmentsIsNotTouchedByWhatAQueryDoesNotSee) {
  Random random;
  SCOPED_TRACE(random.Trace());
  const AttentionShape shape{.heads = 1, .seq_q = 8, .seq_kv = 1000, .head_dim = 4, .causal = true};
  for (const float special : {NAN, INFINITY}) {
    Arrays arrays(random, shape);
    const std::vector<float> before = AttentionOf(kFew, shape, arrays);
    for (int d = 0; d < 4; ++d) {
      arrays.k.data()[995 * 4 + d] = special;
      arrays.v.data()[995 * 4 + d] = special;
    }
    const std::vector<float> after = AttentionOf(kFew, shape, arrays);
    EXPECT_EQ(std::vector<float>(after.begin(), after.begin() + 3 * 4),
              std::vector<float>(before.begin(), before.begin() + 3 * 4));
    EXPECT_TRUE(std::isnan(after[3 * 4]));
  }
}

TEST(AttentionKernelTest, InSegmentsTakesScoresOfMinusInfinity) {
  Random random;
  SCOPED_TRACE(random.Trace());
  const AttentionShape shape{.heads = 1, .seq_q = 3, .seq_kv = 700, .head_dim = 1};
  for (const int finite : {0, 350, 699}) {
    Arrays arrays(random, shape);
    for (int i = 0; i < 3; ++i) arrays.q.data()[i] = 1;
    for (int j = 0; j < 700; ++j) arrays.k.data()[j] = j == finite ? 1 : -INFINITY;
    for (const float x : AttentionOf(kFew, shape, arrays)) {
      EXPECT_EQ(x, arrays.v.data()[finite]);
    }
  }
  Arrays arrays(random, shape);
  for (int i = 0; i < 3; ++i) arrays.q.data()[i] = 1;
  for (int j = 0; j < 700; ++j) arrays.k.data()[j] = -INFINITY;
  for (const float x : AttentionOf(kFew, shape, arrays)) EXPECT_TRUE(std::isnan(x));
}

// Scores whose exponentials overflow, and differ by more between segments than floats can tell.
TEST(AttentionKernelTest, InSegmentsTakesLargeScores) {
  Random random;
  SCOPED_TRACE(random.Trace());
  const AttentionShape shape{.heads = 1, .seq_q = 2, .seq_kv = 600, .head_dim = 8, .scale = 500};
  Arrays arrays(random, shape);
  ExpectClose(AttentionOf(kFew, shape, arrays), ReferenceOf(shape, arrays), 0, 2e-3);
}

}  // namespace
}  // namespace acceld::cuda
