#include "backends/ops/op.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

TEST(OpTest, NamesAreUniqueAndRoundTripWithTheirIndex) {
  std::set<std::string_view> names;
  for (std::size_t index = 0; index < kOpCount; ++index) {
    EXPECT_TRUE(names.insert(OpName(index)).second) << OpName(index);
    EXPECT_EQ(OpIndex(OpName(index)), index);
  }
}

TEST(OpTest, UnknownNamesAndIndicesHaveNone) {
  EXPECT_EQ(OpIndex("transmogrify"), kOpCount);
  EXPECT_EQ(OpIndex(""), kOpCount);
  EXPECT_EQ(OpName(kOpCount), "");
}

TEST(OpTest, AnOpAnswersThroughTheVariant) {
  Op op = ops::Unary{.n = 7};
  EXPECT_EQ(OpName(op), "unary");
  EXPECT_EQ(ClassOf(op), OpClass::kElementwise);
  EXPECT_TRUE(AllowsInPlace(op));
  EXPECT_THAT(CheckParameters(op), IsOk());
  EXPECT_EQ(FlopsOf(op), 7);
  EXPECT_EQ(BytesOf(op), 56);
  OperandList operands = OperandsOf(op);
  *operands[1].address = 512;
  EXPECT_EQ(std::get<ops::Unary>(op).output, 512u);
}

TEST(OpTest, ListsTakeBytesBesidesTheOp) {
  ops::Gather gather;
  EXPECT_EQ(ListBytesOf(Op(gather)), 0u);
  gather.indices.resize(100);
  EXPECT_GE(ListBytesOf(Op(gather)), 800u);
  EXPECT_EQ(ListBytesOf(Op(ops::Gemm{})), 0u);
}

TEST(OpTest, OnlyElementwiseOpsAndSoftmaxRunInPlace) {
  EXPECT_TRUE(AllowsInPlace(Op(ops::Binary{})));
  EXPECT_TRUE(AllowsInPlace(Op(ops::Softmax{})));
  for (const Op& op :
       {Op(ops::Gemm{}), Op(ops::GemmMixedPrecision{}), Op(ops::BatchedGemm{}),
        Op(ops::Conv2dForward{}), Op(ops::Conv2dBackwardData{}), Op(ops::Conv2dBackwardFilter{}),
        Op(ops::Attention{}), Op(ops::Reduce{}), Op(ops::Gather{}), Op(ops::Scatter{}),
        Op(ops::Memset{}), Op(ops::CopyDtoD{})}) {
    EXPECT_FALSE(AllowsInPlace(op)) << OpName(op);
  }
}

}  // namespace
}  // namespace acceld
