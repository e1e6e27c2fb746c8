#include "tests/unit/proto/wire/op_cases.h"

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

const Conv2dShape kConv2dShape{.input = {2, 3, 8, 9},
                               .filter = {4, 3, 5, 6},
                               .output = {2, 4, 5, 8},
                               .stride = {2, 1},
                               .padding = {3, 2}};
const std::string kConv2dText =
    "shape { input: [2, 3, 8, 9] filter: [4, 3, 5, 6] output: [2, 4, 5, 8] "
    "stride: [2, 1] padding: [3, 2] } ";

}  // namespace

v1::Op OpCase::Wire() const {
  v1::Op wire;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &wire)) << text;
  return wire;
}

const std::vector<OpCase>& OpCases() {
  static const auto& cases = *new std::vector<OpCase>{
      {ops::Gemm{.type = DataType::kF64,
                 .transpose_a = Transpose::kTranspose,
                 .transpose_b = Transpose::kConjugateTranspose,
                 .m = 3,
                 .n = 4,
                 .k = 5,
                 .alpha = 1.5,
                 .a = 0x8000000000000100,
                 .lda = 6,
                 .b = 0x200,
                 .ldb = 7,
                 .beta = -2.5,
                 .c = 0x300,
                 .ldc = 8},
       "gemm { type: DATA_TYPE_F64 transpose_a: TRANSPOSE_TRANSPOSE "
       "transpose_b: TRANSPOSE_CONJUGATE_TRANSPOSE m: 3 n: 4 k: 5 alpha: 1.5 "
       "a: 0x8000000000000100 lda: 6 b: 0x200 ldb: 7 beta: -2.5 c: 0x300 ldc: 8 }"},
      {ops::GemmMixedPrecision{.precision = MixedPrecision::kF16,
                               .transpose_a = Transpose::kConjugateTranspose,
                               .transpose_b = Transpose::kTranspose,
                               .m = 3,
                               .n = 4,
                               .k = 5,
                               .alpha = 1.5f,
                               .a = 0x100,
                               .lda = 6,
                               .b = 0x200,
                               .ldb = 7,
                               .beta = -2.5f,
                               .c = 0x300,
                               .ldc = 8},
       "gemm_mixed_precision { precision: MIXED_PRECISION_F16 "
       "transpose_a: TRANSPOSE_CONJUGATE_TRANSPOSE transpose_b: TRANSPOSE_TRANSPOSE "
       "m: 3 n: 4 k: 5 alpha: 1.5 a: 0x100 lda: 6 b: 0x200 ldb: 7 beta: -2.5 c: 0x300 ldc: 8 }"},
      {ops::BatchedGemm{.type = DataType::kF64,
                        .transpose_a = Transpose::kTranspose,
                        .transpose_b = Transpose::kConjugateTranspose,
                        .m = 3,
                        .n = 4,
                        .k = 5,
                        .alpha = 1.5,
                        .a = 0x100,
                        .lda = 6,
                        .stride_a = 61,
                        .b = 0x200,
                        .ldb = 7,
                        .stride_b = 71,
                        .beta = -2.5,
                        .c = 0x300,
                        .ldc = 8,
                        .stride_c = 81,
                        .batch = 9},
       "batched_gemm { type: DATA_TYPE_F64 transpose_a: TRANSPOSE_TRANSPOSE "
       "transpose_b: TRANSPOSE_CONJUGATE_TRANSPOSE m: 3 n: 4 k: 5 alpha: 1.5 "
       "a: 0x100 lda: 6 stride_a: 61 b: 0x200 ldb: 7 stride_b: 71 beta: -2.5 "
       "c: 0x300 ldc: 8 stride_c: 81 batch: 9 }"},
      {ops::Conv2dForward{.shape = kConv2dShape, .input = 0x100, .filter = 0x200, .output = 0x300},
       "conv2d_forward { " + kConv2dText + "input: 0x100 filter: 0x200 output: 0x300 }"},
      {ops::Conv2dBackwardData{.shape = kConv2dShape,
                               .filter = 0x100,
                               .output_gradient = 0x200,
                               .input_gradient = 0x300},
       "conv2d_backward_data { " + kConv2dText +
           "filter: 0x100 output_gradient: 0x200 input_gradient: 0x300 }"},
      {ops::Conv2dBackwardFilter{.shape = kConv2dShape,
                                 .input = 0x100,
                                 .output_gradient = 0x200,
                                 .filter_gradient = 0x300},
       "conv2d_backward_filter { " + kConv2dText +
           "input: 0x100 output_gradient: 0x200 filter_gradient: 0x300 }"},
      {ops::Attention{.batch = 2,
                      .heads = 3,
                      .seq_q = 4,
                      .seq_kv = 5,
                      .head_dim = 6,
                      .scale = 0.5f,
                      .causal = true,
                      .q = 0x100,
                      .k = 0x200,
                      .v = 0x300,
                      .output = 0x400},
       "attention { batch: 2 heads: 3 seq_q: 4 seq_kv: 5 head_dim: 6 scale: 0.5 causal: true "
       "q: 0x100 k: 0x200 v: 0x300 output: 0x400 }"},
      {ops::Reduce{
           .op = ReduceOp::kMean, .shape = {2, 3, 4}, .axis = 2, .input = 0x100, .output = 0x200},
       "reduce { op: REDUCE_OP_MEAN shape: [2, 3, 4] axis: 2 input: 0x100 output: 0x200 }"},
      {ops::Softmax{.shape = {2, 3, 4, 5, 6, 7, 8, 9}, .axis = 7, .input = 0x100, .output = 0x200},
       "softmax { shape: [2, 3, 4, 5, 6, 7, 8, 9] axis: 7 input: 0x100 output: 0x200 }"},
      {ops::Unary{.op = UnaryOp::kNeg, .n = 3, .input = 0x100, .output = 0x200},
       "unary { op: UNARY_OP_NEG n: 3 input: 0x100 output: 0x200 }"},
      {ops::Binary{.op = BinaryOp::kMin, .n = 3, .a = 0x100, .b = 0x200, .output = 0x300},
       "binary { op: BINARY_OP_MIN n: 3 a: 0x100 b: 0x200 output: 0x300 }"},
      {ops::Gather{.rows = 5, .columns = 4, .indices = {2, 0, 3}, .table = 0x100, .output = 0x200},
       "gather { rows: 5 columns: 4 indices: [2, 0, 3] table: 0x100 output: 0x200 }"},
      {ops::Scatter{.rows = 5, .columns = 4, .indices = {2, 0, 3}, .source = 0x100, .table = 0x200},
       "scatter { rows: 5 columns: 4 indices: [2, 0, 3] source: 0x100 table: 0x200 }"},
      {ops::Memset{.target = 0x100, .value = 255, .bytes = 3'000'000'000},
       "memset { target: 0x100 value: 255 size_bytes: 3000000000 }"},
      {ops::CopyDtoD{.target = 0x100, .source = 0x200, .bytes = 3'000'000'000},
       "copy_dtod { target: 0x100 source: 0x200 size_bytes: 3000000000 }"},
  };
  return cases;
}

}  // namespace acceld
