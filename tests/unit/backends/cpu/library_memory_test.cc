#include "tests/unit/backends/cpu/library_memory.h"

#include "backends/reference/reference.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld {
namespace {

// Smaller requests are oneDNN's objects. From here on it is machine code and scratch memory.
constexpr std::size_t kLarge = 32 * 1024;

// Runs `op`, whose output is `output`, without memory for oneDNN, and again with it, when it has to
// give `expected`. Without, it fails or gives the same bits.
template <typename AnyOp>
void ExpectAnErrorOrTheSameBits(TestDevice& device, const AnyOp& op, std::vector<float>& output,
                                const std::vector<float>& expected, double tolerance) {
  const auto before = output;
  absl::Status status;
  int refused = 0;
  {
    const NoLibraryMemory none(kLarge);
    status = device.Run(Op(op));
    refused = none.refused();
  }
  const auto without = output;
  output = before;
  ASSERT_THAT(device.Run(Op(op)), IsOk());
  ExpectClose(output, expected, tolerance, tolerance);
  if (refused > 0) {
    EXPECT_THAT(status, IsStatus(absl::StatusCode::kResourceExhausted, "memory"));
  } else {
    ASSERT_THAT(status, IsOk());
    EXPECT_TRUE(SameBits(without, output));
  }
}

// Square factors, and what is added to their product.
struct Matrices {
  Matrices(Random& random, std::int64_t n, std::int64_t count = 1)
      : a(random.Vector(n * n * count)),
        b(random.Vector(n * n * count)),
        c(random.Vector(n * n * count)) {}

  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> c;
};

// The same for a product of dense factors of `n` rows and columns.
template <typename Product>
void ExpectAProductFailsOrIsRight(TestDevice& device, Product op, std::int64_t n,
                                  Matrices& matrices) {
  op.m = op.n = op.k = n;
  op.lda = op.ldb = op.ldc = n;
  op.a = AddressOf(matrices.a);
  op.b = AddressOf(matrices.b);
  auto expected = matrices.c;
  op.c = AddressOf(expected);
  reference::Run(op);
  op.c = AddressOf(matrices.c);
  ExpectAnErrorOrTheSameBits(device, op, matrices.c, expected, 1e-3);
}

TEST(CpuWithoutLibraryMemory, GemmFailsOrIsRight) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  // By oneDNN's product for any shape and by its primitive for one.
  for (const std::int64_t n : {301, 384}) {
    for (const double beta : {0.0, 2.0}) {
      Matrices matrices(random, n);
      ExpectAProductFailsOrIsRight(device, ops::Gemm{.beta = beta}, n, matrices);
    }
  }
}

// Primitives are kept, for threads that need not be those that made them.
TEST(CpuWithoutLibraryMemory, PrimitivesUseTheScratchMemoryOfTheirThread) {
  TestDevice device;
  Random random;
  constexpr std::int64_t kSize = 512;
  constexpr std::int64_t kLess = 384;
  Matrices matrices(random, kSize);
  const auto multiply = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    ops::Gemm op{.m = m, .n = n, .k = k, .lda = k, .ldb = n, .ldc = m};
    op.transpose_a = op.transpose_b = Transpose::kTranspose;
    op.a = AddressOf(matrices.a);
    op.b = AddressOf(matrices.b);
    op.c = AddressOf(matrices.c);
    return device.Run(Op(op));
  };
  ASSERT_THAT(multiply(kSize, kSize, kSize), IsOk());
  // Less is the primitives themselves.
  const NoLibraryMemory none(256 * 1024);
  EXPECT_THAT(multiply(kSize, kSize, kLess), IsOk());
  EXPECT_THAT(multiply(kSize, kLess, kSize), IsOk());
  EXPECT_THAT(multiply(kLess, kSize, kSize), IsOk());
  EXPECT_EQ(none.refused(), 0);
}

TEST(CpuWithoutLibraryMemory, GemmMixedPrecisionFailsOrIsRight) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const auto precision : {MixedPrecision::kF16, MixedPrecision::kBf16}) {
    constexpr std::int64_t kSize = 317;
    Matrices matrices(random, kSize);
    ExpectAProductFailsOrIsRight(device, ops::GemmMixedPrecision{.precision = precision, .beta = 2},
                                 kSize, matrices);
  }
}

TEST(CpuWithoutLibraryMemory, BatchedGemmFailsOrIsRight) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  constexpr std::int64_t kSize = 203;
  constexpr std::int64_t kBatch = 4;
  Matrices matrices(random, kSize, kBatch);
  ops::BatchedGemm op{.beta = 2, .batch = kBatch};
  op.stride_a = op.stride_b = op.stride_c = kSize * kSize;
  ExpectAProductFailsOrIsRight(device, op, kSize, matrices);
}

// One task a thread, and with few queries, whose keys are split.
TEST(CpuWithoutLibraryMemory, AttentionFailsOrIsRight) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const std::int64_t heads : {1, 8}) {
    ops::Attention op{.batch = 1, .heads = heads, .seq_q = 128, .seq_kv = 1024, .head_dim = 64};
    const auto q = random.Vector(heads * op.seq_q * op.head_dim);
    const auto k = random.Vector(heads * op.seq_kv * op.head_dim);
    const auto v = random.Vector(heads * op.seq_kv * op.head_dim);
    op.q = AddressOf(q);
    op.k = AddressOf(k);
    op.v = AddressOf(v);
    std::vector<float> output(q.size());
    auto expected = output;
    op.output = AddressOf(expected);
    reference::Run(op);
    op.output = AddressOf(output);
    ExpectAnErrorOrTheSameBits(device, op, output, expected, 1e-4);
  }
}

}  // namespace
}  // namespace acceld
