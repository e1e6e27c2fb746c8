// Small ops run in the thread that submits them, and wake no other.
#include "backends/cpu/work_size.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/library_calls.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld {
namespace {

// Of each kind several, of shapes for which there are different ways, all of about the largest size
// that is small; without addresses.
std::vector<Op> LargestSmallOps() {
  std::vector<Op> ops;
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{64, 64, 64},
                                {63, 65, 64},
                                {1, 1, 100'000},
                                {1, 2000, 128},
                                {2000, 1, 128},
                                {3, 5, 15'000},
                                {250, 255, 1}}) {
    for (const DataType type : {DataType::kF32, DataType::kF64}) {
      if (type == DataType::kF64 && k == 1) continue;  // Twice the bytes.
      ops.push_back(ops::Gemm{.type = type, .m = m, .n = n, .k = k, .lda = m, .ldb = k, .ldc = m});
      ops.push_back(ops::BatchedGemm{.type = type,
                                     .m = m,
                                     .n = n,
                                     .k = std::max<std::int64_t>(1, k / 3),
                                     .lda = m,
                                     .stride_a = m * k,
                                     .ldb = k,
                                     .stride_b = k * n,
                                     .ldc = m,
                                     .stride_c = m * n,
                                     .batch = k == 1 ? 1 : 2});
    }
    ops.push_back(ops::GemmMixedPrecision{.m = m, .n = n, .k = k, .lda = m, .ldb = k, .ldc = m});
  }
  for (const Conv2dShape& shape :
       {Conv2dShape::For({1, 16, 10, 10}, {16, 16, 3, 3}, {1, 1}, {1, 1}),
        Conv2dShape::For({2, 3, 20, 20}, {12, 3, 3, 3}, {1, 1}, {1, 1}),
        Conv2dShape::For({1, 1, 90, 90}, {1, 1, 5, 5}, {1, 1}, {2, 2}),
        Conv2dShape::For({1, 64, 8, 8}, {64, 64, 1, 1}),
        Conv2dShape::For({4, 64, 2, 4}, {120, 64, 2, 4}),
        Conv2dShape::For({1, 9, 30, 30}, {10, 9, 3, 3}, {2, 3}, {0, 1})}) {
    ops.push_back(ops::Conv2dForward{.shape = shape});
    ops.push_back(ops::Conv2dBackwardData{.shape = shape});
    ops.push_back(ops::Conv2dBackwardFilter{.shape = shape});
  }
  for (const auto& [heads, queries, keys, head_dim] :
       {std::array<std::int64_t, 4>{1, 40, 40, 32}, {4, 16, 30, 32}, {1, 1, 1000, 64}}) {
    ops.push_back(ops::Attention{.batch = 1,
                                 .heads = heads,
                                 .seq_q = queries,
                                 .seq_kv = keys,
                                 .head_dim = head_dim,
                                 .scale = 0.125f});
  }
  for (const std::int64_t axis : {0, 1, 2}) {
    ops.push_back(ops::Reduce{.op = ReduceOp::kSum, .shape = {31, 33, 32}, .axis = axis});
    ops.push_back(ops::Softmax{.shape = {15, 17, 16}, .axis = axis});
  }
  ops.push_back(ops::Unary{.op = UnaryOp::kExp, .n = 4096});
  ops.push_back(ops::Binary{.op = BinaryOp::kAdd, .n = 4096});
  ops.push_back(
      ops::Gather{.rows = 2, .columns = 9, .indices = std::vector<std::int64_t>(7000, 1)});
  ops.push_back(
      ops::Scatter{.rows = 2, .columns = 9, .indices = std::vector<std::int64_t>(7000, 1)});
  ops.push_back(ops::Memset{.bytes = 256 * 1024});
  ops.push_back(ops::CopyDtoD{.bytes = 256 * 1024});
  return ops;
}

// Memory for the operands of one op, which is zero.
class Operands {
 public:
  explicit Operands(Op& op) {
    for (const Operand& operand : OperandsOf(op)) {
      memory_.emplace_back(static_cast<std::size_t>(operand.ExtentBytes()));
      *operand.address = AddressOf(memory_.back());
    }
  }

 private:
  std::vector<std::vector<std::uint8_t>> memory_;
};

TEST(CpuSmallOps, OpenNoParallelRegionAndLeaveOneDnnAlone) {
  TestDevice device;
  for (Op& op : LargestSmallOps()) {
    SCOPED_TRACE(testing::Message() << OpName(op) << " of " << FlopsOf(op) << " operations");
    ASSERT_TRUE(IsSmall(op));
    const Operands operands(op);
    const LibraryCalls calls;
    EXPECT_THAT(device.Run(op), IsOk());
    EXPECT_EQ(calls.regions(), 0);
    EXPECT_EQ(calls.onednn(), 0);
  }
}

// Or the test above would see nothing.
TEST(CpuSmallOps, AreToldFromLargeOnes) {
  TestDevice device;
  Op op = ops::Gemm{.m = 500, .n = 500, .k = 500, .lda = 500, .ldb = 500, .ldc = 500};
  const Operands operands(op);
  const LibraryCalls calls;
  EXPECT_THAT(device.Run(op), IsOk());
  EXPECT_GT(calls.regions(), 0);
}

}  // namespace
}  // namespace acceld
