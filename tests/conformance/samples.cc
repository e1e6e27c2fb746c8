#include "tests/conformance/samples.h"

#include <array>
#include <utility>

namespace acceld::conformance {
namespace {

const Conv2dShape kConv2dShape = Conv2dShape::For({2, 3, 6, 5}, {4, 3, 3, 2}, {2, 1}, {1, 0});

void SetParameters(ops::Gemm& op) {
  op = {.m = 5, .n = 4, .k = 3, .alpha = 1.5, .lda = 5, .ldb = 3, .ldc = 5};
}
void SetParameters(ops::GemmMixedPrecision& op) {
  op = {.m = 5, .n = 4, .k = 3, .alpha = 1.5f, .lda = 5, .ldb = 3, .ldc = 5};
}
void SetParameters(ops::BatchedGemm& op) {
  op = {.m = 5,
        .n = 4,
        .k = 3,
        .alpha = 1.5,
        .lda = 5,
        .stride_a = 15,
        .ldb = 3,
        .stride_b = 12,
        .ldc = 5,
        .stride_c = 20,
        .batch = 3};
}
void SetParameters(ops::Conv2dForward& op) { op.shape = kConv2dShape; }
void SetParameters(ops::Conv2dBackwardData& op) { op.shape = kConv2dShape; }
void SetParameters(ops::Conv2dBackwardFilter& op) { op.shape = kConv2dShape; }
void SetParameters(ops::Attention& op) {
  op = {.batch = 2, .heads = 2, .seq_q = 3, .seq_kv = 5, .head_dim = 4, .scale = 0.5f};
}
void SetParameters(ops::Reduce& op) { op = {.op = ReduceOp::kSum, .shape = {4, 5, 6}, .axis = 1}; }
void SetParameters(ops::Softmax& op) { op = {.shape = {4, 5, 6}, .axis = 1}; }
void SetParameters(ops::Unary& op) { op = {.op = UnaryOp::kTanh, .n = 77}; }
void SetParameters(ops::Binary& op) { op = {.op = BinaryOp::kSub, .n = 77}; }
void SetParameters(ops::Gather& op) {
  op.rows = 6;
  op.columns = 7;
  op.indices = {5, 0, 3, 3};
}
void SetParameters(ops::Scatter& op) {
  op.rows = 6;
  op.columns = 7;
  op.indices = {5, 0, 3, 3};
}
void SetParameters(ops::Memset& op) { op = {.value = 0x5c, .bytes = 308}; }
void SetParameters(ops::CopyDtoD& op) { op.bytes = 308; }

template <std::size_t... I>
std::array<Op, kOpCount> DefaultOps(std::index_sequence<I...>) {
  return {Op(std::in_place_index<I>)...};
}

}  // namespace

Op SampleOp(std::size_t index) {
  std::array<Op, kOpCount> defaults = DefaultOps(std::make_index_sequence<kOpCount>());
  Op& op = defaults.at(index);
  std::visit([](auto& typed) { SetParameters(typed); }, op);
  return op;
}

}  // namespace acceld::conformance
