#include "backends/ops/check_op.h"

#include <array>

#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/ops/heap_allocations.h"

namespace acceld {
namespace {

using ::testing::AllOf;

class CheckOpTest : public ::testing::Test {
 protected:
  CheckOpTest() { all_.set(); }

  Address Allocate(std::uint64_t size_bytes) {
    const Address base = *range_.Take(size_bytes);
    space_.Insert(std::make_shared<Allocation>(base, size_bytes, memory_.data()));
    return base;
  }

  absl::Status Check(Op op) { return CheckOp(op, all_, space_).status(); }

  alignas(256) std::array<std::byte, 4096> memory_{};
  AddressRange range_ = AddressSpace::ClientRange();
  AddressSpace space_;
  OpSet all_;
};

// A square gemm of f32 inside matrices with this leading dimension.
ops::Gemm SquareGemm(std::int64_t n, std::int64_t ld, Address a, Address b, Address c) {
  return {.m = n, .n = n, .k = n, .a = a, .lda = ld, .b = b, .ldb = ld, .c = c, .ldc = ld};
}

TEST_F(CheckOpTest, GivesTheAllocationOfEachOperand) {
  const Address a = Allocate(64), b = Allocate(64), c = Allocate(64);
  Op op = SquareGemm(4, 4, a, b, c);
  const auto checked = CheckOp(op, all_, space_);
  ASSERT_THAT(checked.status(), IsOk());
  EXPECT_FALSE(checked->nothing_to_do);
  ASSERT_NE(checked->allocations[2], nullptr);
  EXPECT_EQ(checked->allocations[0]->base(), a);
  EXPECT_EQ(checked->allocations[1]->base(), b);
  EXPECT_EQ(checked->allocations[2]->base(), c);
  EXPECT_EQ(checked->allocations[3], nullptr);
}

TEST_F(CheckOpTest, TakesNothingFromTheHeapOnSuccess) {
  const Address matrix = Allocate(4096);
  Op op = SquareGemm(4, 32, matrix, matrix + 16, matrix + 32);
  const std::size_t before = HeapAllocations();
  const auto checked = CheckOp(op, all_, space_);
  EXPECT_EQ(HeapAllocations(), before);
  EXPECT_THAT(checked.status(), IsOk());
}

TEST_F(CheckOpTest, AMissingKernelComesBeforeInvalidParameters) {
  Op op = ops::Gemm{.m = -1};
  OpSet none;
  EXPECT_THAT(CheckOp(op, none, space_).status(),
              AllOf(IsStatus(absl::StatusCode::kUnimplemented, "The device has no gemm."),
                    HasReason(reason::kUnsupported)));
  EXPECT_THAT(CheckOpShape(op, none), IsStatus(absl::StatusCode::kUnimplemented, "gemm"));
  EXPECT_THAT(CheckOpShape(op, all_), IsInvalid("Argument m of gemm is -1"));
}

TEST_F(CheckOpTest, InvalidParametersComeBeforeAddresses) {
  EXPECT_THAT(Check(ops::Gemm{.m = 4, .n = 4, .k = 4, .lda = 3, .ldb = 4, .ldc = 4}),
              AllOf(IsInvalid("Argument lda"), HasReason(reason::kInvalidArgument)));
}

TEST_F(CheckOpTest, InvalidParametersAreFoundWhereTheOutputIsEmpty) {
  EXPECT_THAT(Check(ops::Softmax{.shape = {0}, .axis = 1}), IsInvalid("Argument axis"));
  EXPECT_THAT(Check(ops::Unary{.op = static_cast<UnaryOp>(9), .n = 0}), IsInvalid("Argument op"));
}

TEST_F(CheckOpTest, AnEmptyOutputLooksAtNoAddress) {
  for (Op op : {Op(ops::Gemm{.m = 0, .n = 4, .k = 4, .a = 1, .lda = 1, .ldb = 4, .ldc = 1}),
                Op(ops::BatchedGemm{.m = 1, .n = 1, .k = 1, .lda = 1, .ldb = 1, .ldc = 1}),
                Op(ops::Reduce{.shape = {0, 3}, .axis = 1, .input = 1}),
                Op(ops::Softmax{.shape = {3, 0}, .axis = 0, .input = 1}),
                Op(ops::Unary{.n = 0, .input = 1}), Op(ops::Binary{.n = 0, .a = 1}),
                Op(ops::Gather{.rows = 3, .columns = 3, .table = 1}),
                Op(ops::Gather{.rows = 3, .columns = 0, .indices = {1}, .table = 1}),
                Op(ops::Scatter{.rows = 3, .columns = 3, .table = 1}), Op(ops::Memset{.target = 1}),
                Op(ops::CopyDtoD{.target = 1, .source = 1})}) {
    const auto checked = CheckOp(op, all_, space_);
    ASSERT_THAT(checked.status(), IsOk()) << OpName(op);
    EXPECT_TRUE(checked->nothing_to_do) << OpName(op);
    for (const auto& allocation : checked->allocations) EXPECT_EQ(allocation, nullptr);
  }
}

TEST_F(CheckOpTest, FactorsThatAreNotReadAreNotLookedAt) {
  const Address c = Allocate(64);
  ops::Gemm no_alpha = SquareGemm(4, 4, 0, c, c);
  no_alpha.alpha = 0;
  EXPECT_THAT(Check(no_alpha), IsOk());
  ops::Gemm no_k = SquareGemm(4, 4, 0, 1, c);
  no_k.k = 0;
  EXPECT_THAT(Check(no_k), IsOk());
}

TEST_F(CheckOpTest, AnOperandBeyondItsAllocationIsNamed) {
  const Address a = Allocate(64), b = Allocate(128), c = Allocate(64);
  Op op =
      ops::Gemm{.m = 4, .n = 4, .k = 4, .a = a, .lda = 4, .b = b + 16, .ldb = 9, .c = c, .ldc = 4};
  EXPECT_THAT(CheckOp(op, all_, space_).status(),
              IsInvalid("Operand b of gemm ends at byte 140, beyond its allocation of 128 bytes."));
}

TEST_F(CheckOpTest, AMatrixEndsAtItsLastElement) {
  // (4 - 1) * 100 + 4 elements.
  const Address exact = Allocate(304 * 4), a = Allocate(64), b = Allocate(64);
  ops::Gemm op = SquareGemm(4, 4, a, b, exact);
  op.ldc = 100;
  EXPECT_THAT(Check(op), IsOk());
  op.ldc = 101;
  EXPECT_THAT(Check(op), IsInvalid("Operand c of gemm ends at byte 1228"));
}

TEST_F(CheckOpTest, AnUnknownAddressIsNamed) {
  const Address a = Allocate(64);
  EXPECT_THAT(Check(ops::Unary{.n = 4, .input = a, .output = 0}),
              AllOf(IsInvalid("Operand output of unary"), HasReason(reason::kUnknownAddress)));
}

TEST_F(CheckOpTest, AnAllocationThatFailedAnswersWithItsError) {
  const Address failed = *range_.Take(64);
  space_.Insert(std::make_shared<Allocation>(failed, 64, OutOfMemory("The device is full.")));
  EXPECT_THAT(Check(ops::Memset{.target = failed, .bytes = 4}),
              IsStatus(absl::StatusCode::kResourceExhausted, "The device is full."));
}

TEST_F(CheckOpTest, ElementsAreAligned) {
  const Address x = Allocate(64);
  EXPECT_THAT(Check(ops::Unary{.n = 1, .input = x + 2, .output = x + 32}),
              IsInvalid("Operand input of unary has address 0x"));
  EXPECT_THAT(Check(ops::Unary{.n = 1, .input = x + 4, .output = x + 32}), IsOk());
  EXPECT_THAT(Check(ops::Memset{.target = x + 1, .bytes = 3}), IsOk());
  ops::Gemm f64 = SquareGemm(1, 1, x, x + 8, x + 20);
  f64.type = DataType::kF64;
  EXPECT_THAT(Check(f64), IsInvalid("not a multiple of its element's 8 bytes"));
}

TEST_F(CheckOpTest, BlocksOfOneMatrixMayBeOperandsOfOneGemm) {
  // A 12 x 12 matrix in blocks of 4, as in a blocked Cholesky factorization.
  const Address matrix = Allocate(12 * 12 * 4);
  const auto block = [matrix](Address row, Address column) {
    return matrix + (row * 4 + column * 4 * 12) * 4;
  };
  ops::Gemm op = SquareGemm(4, 12, block(1, 0), block(2, 0), block(2, 1));
  op.beta = 1;
  EXPECT_THAT(Check(op), IsOk());
  op.a = op.b;  // factors may be the same
  EXPECT_THAT(Check(op), IsOk());
  op.c = block(2, 0) - 4;  // its last row is the first of b
  EXPECT_THAT(Check(op), IsInvalid("Operand c of gemm"));
}

TEST_F(CheckOpTest, AnOutputOfGemmMustNotBeAnInput) {
  const Address a = Allocate(64), c = Allocate(64);
  EXPECT_THAT(Check(SquareGemm(4, 4, c, a, c)), IsInvalid("overlaps operand a"));
  EXPECT_THAT(Check(SquareGemm(4, 4, a, c, c)), IsInvalid("they must share nothing"));
}

TEST_F(CheckOpTest, ProductsOfABatchMustNotShareAnElementOfC) {
  const Address a = Allocate(64), c = Allocate(1024);
  ops::BatchedGemm op{.m = 2,
                      .n = 2,
                      .k = 2,
                      .a = a,
                      .lda = 2,
                      .b = a,
                      .ldb = 2,
                      .c = c,
                      .ldc = 6,
                      .stride_c = 2,
                      .batch = 3};
  EXPECT_THAT(Check(op), IsOk());  // interleaved: columns of 2, three in a row of 6
  op.batch = 4;
  EXPECT_THAT(Check(op), IsInvalid("The 4 blocks of operand c of batched_gemm, 8 bytes apart"));
  op.stride_c = 0;
  EXPECT_THAT(Check(op), IsInvalid("share elements"));
  op.batch = 1;
  EXPECT_THAT(Check(op), IsOk());
}

TEST_F(CheckOpTest, ElementwiseOpsAndSoftmaxMayRunInPlace) {
  const Address x = Allocate(64), y = Allocate(64);
  EXPECT_THAT(Check(ops::Unary{.n = 16, .input = x, .output = x}), IsOk());
  EXPECT_THAT(Check(ops::Binary{.n = 16, .a = x, .b = x, .output = x}), IsOk());
  EXPECT_THAT(Check(ops::Binary{.n = 16, .a = y, .b = x, .output = x}), IsOk());
  EXPECT_THAT(Check(ops::Softmax{.shape = {4, 4}, .axis = 0, .input = x, .output = x}), IsOk());
}

TEST_F(CheckOpTest, AShiftedOutputIsInvalidInPlace) {
  const Address x = Allocate(64);
  EXPECT_THAT(Check(ops::Unary{.n = 8, .input = x, .output = x + 4}),
              IsInvalid("they must be equal or share nothing"));
  EXPECT_THAT(Check(ops::Unary{.n = 8, .input = x + 4, .output = x}), IsInvalid("overlaps"));
  EXPECT_THAT(Check(ops::Unary{.n = 8, .input = x + 32, .output = x}), IsOk());
  EXPECT_THAT(Check(ops::Binary{.n = 8, .a = x, .b = x + 4, .output = x}),
              IsInvalid("overlaps operand b"));
}

TEST_F(CheckOpTest, OtherOpsAreInvalidInPlace) {
  const Address x = Allocate(64);
  EXPECT_THAT(Check(ops::Reduce{.shape = {16}, .axis = 0, .input = x, .output = x}),
              IsInvalid("Operand output of reduce"));
  EXPECT_THAT(
      Check(ops::Gather{.rows = 2, .columns = 4, .indices = {1}, .table = x, .output = x + 16}),
      IsInvalid("Operand output of gather"));
  EXPECT_THAT(Check(ops::Scatter{.rows = 2, .columns = 4, .indices = {1}, .source = x, .table = x}),
              IsInvalid("Operand table of scatter"));
}

TEST_F(CheckOpTest, AnOverlappingCopyIsInvalid) {
  const Address x = Allocate(64);
  EXPECT_THAT(Check(ops::CopyDtoD{.target = x + 32, .source = x, .bytes = 32}), IsOk());
  EXPECT_THAT(Check(ops::CopyDtoD{.target = x + 31, .source = x, .bytes = 32}),
              IsInvalid("overlaps operand source"));
  EXPECT_THAT(Check(ops::CopyDtoD{.target = x, .source = x, .bytes = 1}), IsInvalid("overlaps"));
}

TEST_F(CheckOpTest, TranslatedAddressesNameTheDevicesBytes) {
  const Address x = Allocate(64);
  ops::Gemm gemm = SquareGemm(2, 2, 77, 77, x + 16);
  gemm.alpha = 0;
  Op op = gemm;
  const auto checked = CheckOp(op, all_, space_);
  ASSERT_THAT(checked.status(), IsOk());
  TranslateAddresses(op, *checked);
  const auto& translated = std::get<ops::Gemm>(op);
  EXPECT_EQ(translated.c, reinterpret_cast<Address>(memory_.data() + 16));
  EXPECT_EQ(translated.a, 0u);  // no bytes: nothing of the client's reaches the device
  EXPECT_EQ(translated.b, 0u);
}

}  // namespace
}  // namespace acceld
