// The reference on values computed by hand.
#include "backends/reference/reference.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatEq;
using testing::IsNan;

constexpr float kSignalingNaN = std::numeric_limits<float>::signaling_NaN();

template <typename T>
Address AddressOf(const std::vector<T>& data) {
  return reinterpret_cast<Address>(data.data());
}

TEST(Reference, GemmMultipliesColumnMajorMatrices) {
  // A = [1 2; 3 4], B = [5 6; 7 8].
  const std::vector<double> a = {1, 3, 2, 4};
  const std::vector<double> b = {5, 7, 6, 8};
  std::vector<double> c = {1, 1, 1, 1};
  ops::Gemm op{.type = DataType::kF64,
               .m = 2,
               .n = 2,
               .k = 2,
               .a = AddressOf(a),
               .lda = 2,
               .b = AddressOf(b),
               .ldb = 2,
               .c = AddressOf(c),
               .ldc = 2};
  reference::Run(op);
  EXPECT_THAT(c, ElementsAre(19, 43, 22, 50));
  op.transpose_a = Transpose::kTranspose;
  reference::Run(op);
  EXPECT_THAT(c, ElementsAre(26, 38, 30, 44));
  op.transpose_a = Transpose::kNone;
  op.transpose_b = Transpose::kConjugateTranspose;
  reference::Run(op);
  EXPECT_THAT(c, ElementsAre(17, 39, 23, 53));
  op.alpha = 2;
  op.beta = -1;
  reference::Run(op);
  EXPECT_THAT(c, ElementsAre(17, 39, 23, 53));
}

TEST(Reference, GemmLeavesGapsAndHonoursLeadingDimensions) {
  const std::vector<float> a = {1, 9, 2, 9};     // [1, 2], lda 2
  const std::vector<float> b = {3, 4, 9, 5, 6};  // [2, 2], ldb 3
  std::vector<float> c = {0, 8, 0, 8};           // [1, 2], ldc 2
  reference::Run(ops::Gemm{.m = 1,
                           .n = 2,
                           .k = 2,
                           .a = AddressOf(a),
                           .lda = 2,
                           .b = AddressOf(b),
                           .ldb = 3,
                           .c = AddressOf(c),
                           .ldc = 2});
  EXPECT_THAT(c, ElementsAre(11, 8, 17, 8));
}

TEST(Reference, GemmReadsNeitherFactorForAlphaOrKZeroNorCForBetaZero) {
  const std::vector<float> nan = {NAN};
  std::vector<float> c = {3};
  ops::Gemm op{.m = 1,
               .n = 1,
               .k = 1,
               .alpha = 0,
               .a = AddressOf(nan),
               .lda = 1,
               .b = AddressOf(nan),
               .ldb = 1,
               .beta = 2,
               .c = AddressOf(c),
               .ldc = 1};
  reference::Run(op);
  EXPECT_THAT(c, ElementsAre(6));
  op.alpha = 1;
  op.k = 0;
  reference::Run(op);
  EXPECT_THAT(c, ElementsAre(12));
  c = {NAN};
  op.beta = 0;
  reference::Run(op);
  EXPECT_THAT(c, ElementsAre(0));
}

TEST(Reference, BatchedGemmSharesAnOperandOfStrideZero) {
  const std::vector<float> a = {2};
  const std::vector<float> b = {3, 0, 4};
  std::vector<float> c = {1, 1};
  reference::Run(ops::BatchedGemm{.m = 1,
                                  .n = 1,
                                  .k = 1,
                                  .a = AddressOf(a),
                                  .lda = 1,
                                  .stride_a = 0,
                                  .b = AddressOf(b),
                                  .ldb = 1,
                                  .stride_b = 2,
                                  .beta = 10,
                                  .c = AddressOf(c),
                                  .ldc = 1,
                                  .stride_c = 1,
                                  .batch = 2});
  EXPECT_THAT(c, ElementsAre(16, 18));
}

TEST(Reference, GemmMixedPrecisionRoundsItsFactorsOnly) {
  // 1 + 2^-8 is halfway between two bf16 values and goes to the even one, 1; f16 keeps it.
  const std::vector<float> a = {1 + 0x1p-8f};
  const std::vector<float> b = {1 + 0x1p-7f};
  std::vector<float> c(1);
  ops::GemmMixedPrecision op{.precision = MixedPrecision::kBf16,
                             .m = 1,
                             .n = 1,
                             .k = 1,
                             .a = AddressOf(a),
                             .lda = 1,
                             .b = AddressOf(b),
                             .ldb = 1,
                             .c = AddressOf(c),
                             .ldc = 1};
  reference::Run(op);
  EXPECT_THAT(c, ElementsAre(1 + 0x1p-7f));
  op.precision = MixedPrecision::kF16;
  reference::Run(op);
  EXPECT_THAT(c, ElementsAre((1 + 0x1p-8f) * (1 + 0x1p-7f)));
}

TEST(Reference, GemmMixedPrecisionRoundsOnlyItsResult) {
  // In f32, 2^24 + 1 + 1 would be 2^24 if added one by one.
  const std::vector<float> a = {0x1p12f, 1, 1};
  std::vector<float> c(1);
  reference::Run(ops::GemmMixedPrecision{.m = 1,
                                         .n = 1,
                                         .k = 3,
                                         .a = AddressOf(a),
                                         .lda = 1,
                                         .b = AddressOf(a),
                                         .ldb = 3,
                                         .c = AddressOf(c),
                                         .ldc = 1});
  EXPECT_THAT(c, ElementsAre(0x1p24f + 2));
}

class ReferenceConv2d : public testing::Test {
 protected:
  // One 2 x 3 image, one 2 x 2 filter, horizontal stride 2, one row of padding: output 3 x 1.
  const Conv2dShape shape_ = Conv2dShape::For({1, 1, 2, 3}, {1, 1, 2, 2}, {1, 2}, {1, 0});
  const std::vector<float> input_ = {1, 2, 3,  //
                                     4, 5, 6};
  const std::vector<float> filter_ = {10, 20,  //
                                      30, 40};
  const std::vector<float> gradient_ = {1, 2, 3};
};

TEST_F(ReferenceConv2d, ForwardIsACrossCorrelation) {
  std::vector<float> output(3);
  reference::Run(ops::Conv2dForward{.shape = shape_,
                                    .input = AddressOf(input_),
                                    .filter = AddressOf(filter_),
                                    .output = AddressOf(output)});
  EXPECT_THAT(output,
              ElementsAre(30 * 1 + 40 * 2, 10 * 1 + 20 * 2 + 30 * 4 + 40 * 5, 10 * 4 + 20 * 5));
}

TEST_F(ReferenceConv2d, BackwardDataIsTheGradientByTheInput) {
  std::vector<float> input_gradient(6, NAN);
  reference::Run(ops::Conv2dBackwardData{.shape = shape_,
                                         .filter = AddressOf(filter_),
                                         .output_gradient = AddressOf(gradient_),
                                         .input_gradient = AddressOf(input_gradient)});
  EXPECT_THAT(input_gradient, ElementsAre(30 * 1 + 10 * 2, 40 * 1 + 20 * 2, 0,  //
                                          30 * 2 + 10 * 3, 40 * 2 + 20 * 3, 0));
}

TEST_F(ReferenceConv2d, BackwardFilterIsTheGradientByTheFilter) {
  std::vector<float> filter_gradient(4, NAN);
  reference::Run(ops::Conv2dBackwardFilter{.shape = shape_,
                                           .input = AddressOf(input_),
                                           .output_gradient = AddressOf(gradient_),
                                           .filter_gradient = AddressOf(filter_gradient)});
  EXPECT_THAT(filter_gradient, ElementsAre(2 * 1 + 3 * 4, 2 * 2 + 3 * 5,  //
                                           1 * 1 + 2 * 4, 1 * 2 + 2 * 5));
}

TEST_F(ReferenceConv2d, SumsOverChannelsAndKeepsImagesAndFiltersApart) {
  // 1 x 1 images and filters: output[n, k] = sum over c of input[n, c] * filter[k, c].
  const std::vector<float> input = {1, 2, 3, 4};
  const std::vector<float> filter = {5, 6, 7, 8, 9, 10};
  std::vector<float> output(6);
  reference::Run(ops::Conv2dForward{.shape = Conv2dShape::For({2, 2, 1, 1}, {3, 2, 1, 1}),
                                    .input = AddressOf(input),
                                    .filter = AddressOf(filter),
                                    .output = AddressOf(output)});
  EXPECT_THAT(output, ElementsAre(17, 23, 29, 39, 53, 67));
}

TEST(Reference, AttentionWeighsValuesBySoftmaxOfScaledProducts) {
  const std::vector<float> q = {1, 0};
  const std::vector<float> k = {std::log(3.0f) / 2, 5, 0, 7};
  const std::vector<float> v = {4, 8, 0, 16};
  std::vector<float> output(2);
  reference::Run(ops::Attention{.batch = 1,
                                .heads = 1,
                                .seq_q = 1,
                                .seq_kv = 2,
                                .head_dim = 2,
                                .scale = 2,
                                .q = AddressOf(q),
                                .k = AddressOf(k),
                                .v = AddressOf(v),
                                .output = AddressOf(output)});
  // Weights 3/4 and 1/4.
  EXPECT_THAT(output, ElementsAre(FloatEq(3), FloatEq(10)));
}

TEST(Reference, CausalAttentionSeesKeysUpToItsOwnCountedFromTheEnd) {
  const std::vector<float> ones(3, 1);
  const std::vector<float> v = {1, 3, 8};
  std::vector<float> output(3, NAN);
  ops::Attention op{.batch = 1,
                    .heads = 1,
                    .seq_q = 3,
                    .seq_kv = 3,
                    .head_dim = 1,
                    .causal = true,
                    .q = AddressOf(ones),
                    .k = AddressOf(ones),
                    .v = AddressOf(v),
                    .output = AddressOf(output)};
  reference::Run(op);
  EXPECT_THAT(output, ElementsAre(1, 2, 4));
  op.seq_kv = 2;  // the first query sees no key
  reference::Run(op);
  EXPECT_THAT(output, ElementsAre(0, 1, 2));
  op.seq_kv = 3;
  op.seq_q = 2;
  reference::Run(op);
  EXPECT_THAT(output, ElementsAre(2, 4, 2));
}

TEST(Reference, ReduceFoldsOneAxis) {
  const std::vector<float> input = {1, 2, 3, 4, 5, 9};
  std::vector<float> output(3);
  ops::Reduce op{.op = ReduceOp::kSum,
                 .shape = {2, 3},
                 .axis = 0,
                 .input = AddressOf(input),
                 .output = AddressOf(output)};
  reference::Run(op);
  EXPECT_THAT(output, ElementsAre(5, 7, 12));
  op.op = ReduceOp::kMin;
  reference::Run(op);
  EXPECT_THAT(output, ElementsAre(1, 2, 3));
  op.axis = 1;
  output = {0, 0, 7};
  op.op = ReduceOp::kMean;
  reference::Run(op);
  EXPECT_THAT(output, ElementsAre(2, 6, 7));
  op.op = ReduceOp::kMax;
  reference::Run(op);
  EXPECT_THAT(output, ElementsAre(3, 9, 7));
}

TEST(Reference, ExtremesReturnTheNumberWhereOneSideIsNaN) {
  for (const float nan : {static_cast<float>(NAN), kSignalingNaN}) {
    const std::vector<float> input = {nan, 2, nan, nan};
    std::vector<float> output(2);
    for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
      reference::Run(ops::Reduce{.op = op,
                                 .shape = {2, 2},
                                 .axis = 1,
                                 .input = AddressOf(input),
                                 .output = AddressOf(output)});
      EXPECT_THAT(output, ElementsAre(2, IsNan()));
    }
    const std::vector<float> a = {nan, 2, nan};
    const std::vector<float> b = {1, nan, nan};
    std::vector<float> c(3);
    for (const BinaryOp op : {BinaryOp::kMax, BinaryOp::kMin}) {
      reference::Run(ops::Binary{
          .op = op, .n = 3, .a = AddressOf(a), .b = AddressOf(b), .output = AddressOf(c)});
      EXPECT_THAT(c, ElementsAre(1, 2, IsNan()));
    }
  }
}

TEST(Reference, SoftmaxNormalizesAlongItsAxisWithoutOverflow) {
  const float log3 = std::log(3.0f);
  const std::vector<float> input = {1000, 0, 1000 + log3, 0};
  std::vector<float> output(4);
  reference::Run(ops::Softmax{
      .shape = {2, 2}, .axis = 0, .input = AddressOf(input), .output = AddressOf(output)});
  EXPECT_THAT(output, testing::Pointwise(testing::FloatNear(2e-5f),
                                         std::vector<float>{.25f, .5f, .75f, .5f}));
}

TEST(Reference, SoftmaxOfNaNOrOnlyMinusInfinityIsNaN) {
  for (const std::vector<float>& input :
       {std::vector<float>{NAN, 1}, std::vector<float>{-INFINITY, -INFINITY}}) {
    std::vector<float> output(2);
    reference::Run(ops::Softmax{
        .shape = {2}, .axis = 0, .input = AddressOf(input), .output = AddressOf(output)});
    EXPECT_THAT(output, Each(IsNan()));
  }
}

float Of(UnaryOp op, float x) {
  const std::vector<float> input = {x};
  std::vector<float> output(1);
  reference::Run(
      ops::Unary{.op = op, .n = 1, .input = AddressOf(input), .output = AddressOf(output)});
  return output[0];
}

TEST(Reference, UnaryFunctionsHaveTheirKnownValues) {
  EXPECT_EQ(Of(UnaryOp::kRelu, -2), 0);
  EXPECT_EQ(Of(UnaryOp::kRelu, 2), 2);
  EXPECT_EQ(Of(UnaryOp::kRelu, NAN), 0);
  EXPECT_EQ(Of(UnaryOp::kSigmoid, 0), 0.5f);
  EXPECT_EQ(Of(UnaryOp::kSigmoid, -INFINITY), 0);
  EXPECT_EQ(Of(UnaryOp::kTanh, INFINITY), 1);
  EXPECT_FLOAT_EQ(Of(UnaryOp::kExp, 1), 2.7182818f);
  EXPECT_EQ(Of(UnaryOp::kLog, 1), 0);
  EXPECT_EQ(Of(UnaryOp::kLog, 0), -INFINITY);
  EXPECT_TRUE(std::isnan(Of(UnaryOp::kLog, -1)));
  EXPECT_EQ(Of(UnaryOp::kSqrt, 9), 3);
  EXPECT_EQ(Of(UnaryOp::kAbs, -4), 4);
  EXPECT_EQ(Of(UnaryOp::kNeg, 4), -4);
}

TEST(Reference, BinaryFunctionsHaveTheirKnownValues) {
  const std::vector<float> a = {6};
  const std::vector<float> b = {-2};
  const auto of = [&](BinaryOp op) {
    std::vector<float> output(1);
    reference::Run(ops::Binary{
        .op = op, .n = 1, .a = AddressOf(a), .b = AddressOf(b), .output = AddressOf(output)});
    return output[0];
  };
  EXPECT_EQ(of(BinaryOp::kAdd), 4);
  EXPECT_EQ(of(BinaryOp::kSub), 8);
  EXPECT_EQ(of(BinaryOp::kMul), -12);
  EXPECT_EQ(of(BinaryOp::kDiv), -3);
  EXPECT_EQ(of(BinaryOp::kMax), 6);
  EXPECT_EQ(of(BinaryOp::kMin), -2);
}

TEST(Reference, GatherCopiesTheRowsNamed) {
  const std::vector<float> table = {1, 2, 3, 4, 5, 6};
  std::vector<float> output(6);
  reference::Run(ops::Gather{.rows = 3,
                             .columns = 2,
                             .indices = {2, 0, 2},
                             .table = AddressOf(table),
                             .output = AddressOf(output)});
  EXPECT_THAT(output, ElementsAre(5, 6, 1, 2, 5, 6));
}

TEST(Reference, ScatterKeepsOtherRowsAndTheLastOfARepeatedIndexWins) {
  const std::vector<float> source = {1, 2, 3};
  std::vector<float> table = {7, 8, 9};
  reference::Run(ops::Scatter{.rows = 3,
                              .columns = 1,
                              .indices = {2, 0, 2},
                              .source = AddressOf(source),
                              .table = AddressOf(table)});
  EXPECT_THAT(table, ElementsAre(2, 8, 3));
}

TEST(Reference, RunTakesAnyOp) {
  std::vector<std::uint8_t> target = {1, 2, 3, 4};
  reference::Run(Op(ops::Memset{.target = AddressOf(target) + 1, .value = 9, .bytes = 2}));
  EXPECT_THAT(target, ElementsAre(1, 9, 9, 4));
  reference::Run(
      Op(ops::CopyDtoD{.target = AddressOf(target), .source = AddressOf(target) + 2, .bytes = 2}));
  EXPECT_THAT(target, ElementsAre(9, 4, 9, 4));
}

}  // namespace
}  // namespace acceld
