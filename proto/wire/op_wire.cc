#include "proto/wire/op_wire.h"

#include <variant>

#include "backends/core/status.h"
#include "proto/wire/ops/ops_wire.h"

namespace acceld {
namespace {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};

}  // namespace

// An op that is missing in either function does not compile.

void ToWire(const Op& op, v1::Op& wire) {
  std::visit(
      Overloaded{
          [&](const ops::Gemm& typed) { ToWire(typed, *wire.mutable_gemm()); },
          [&](const ops::GemmMixedPrecision& typed) {
            ToWire(typed, *wire.mutable_gemm_mixed_precision());
          },
          [&](const ops::BatchedGemm& typed) { ToWire(typed, *wire.mutable_batched_gemm()); },
          [&](const ops::Conv2dForward& typed) { ToWire(typed, *wire.mutable_conv2d_forward()); },
          [&](const ops::Conv2dBackwardData& typed) {
            ToWire(typed, *wire.mutable_conv2d_backward_data());
          },
          [&](const ops::Conv2dBackwardFilter& typed) {
            ToWire(typed, *wire.mutable_conv2d_backward_filter());
          },
          [&](const ops::Attention& typed) { ToWire(typed, *wire.mutable_attention()); },
          [&](const ops::Reduce& typed) { ToWire(typed, *wire.mutable_reduce()); },
          [&](const ops::Softmax& typed) { ToWire(typed, *wire.mutable_softmax()); },
          [&](const ops::Unary& typed) { ToWire(typed, *wire.mutable_unary()); },
          [&](const ops::Binary& typed) { ToWire(typed, *wire.mutable_binary()); },
          [&](const ops::Gather& typed) { ToWire(typed, *wire.mutable_gather()); },
          [&](const ops::Scatter& typed) { ToWire(typed, *wire.mutable_scatter()); },
          [&](const ops::Memset& typed) { ToWire(typed, *wire.mutable_memset()); },
          [&](const ops::CopyDtoD& typed) { ToWire(typed, *wire.mutable_copy_dtod()); },
      },
      op);
}

absl::StatusOr<Op> FromWire(const v1::Op& wire) {
  switch (wire.op_case()) {
    case v1::Op::kGemm:
      return FromWire(wire.gemm());
    case v1::Op::kGemmMixedPrecision:
      return FromWire(wire.gemm_mixed_precision());
    case v1::Op::kBatchedGemm:
      return FromWire(wire.batched_gemm());
    case v1::Op::kConv2DForward:
      return FromWire(wire.conv2d_forward());
    case v1::Op::kConv2DBackwardData:
      return FromWire(wire.conv2d_backward_data());
    case v1::Op::kConv2DBackwardFilter:
      return FromWire(wire.conv2d_backward_filter());
    case v1::Op::kAttention:
      return FromWire(wire.attention());
    case v1::Op::kReduce:
      return FromWire(wire.reduce());
    case v1::Op::kSoftmax:
      return FromWire(wire.softmax());
    case v1::Op::kUnary:
      return FromWire(wire.unary());
    case v1::Op::kBinary:
      return FromWire(wire.binary());
    case v1::Op::kGather:
      return FromWire(wire.gather());
    case v1::Op::kScatter:
      return FromWire(wire.scatter());
    case v1::Op::kMemset:
      return FromWire(wire.memset());
    case v1::Op::kCopyDtod:
      return FromWire(wire.copy_dtod());
    case v1::Op::OP_NOT_SET:
      break;
  }
  return InvalidArgument("The command names no op this server knows.");
}

}  // namespace acceld
