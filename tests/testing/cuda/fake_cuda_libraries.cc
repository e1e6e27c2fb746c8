#include "tests/testing/cuda/fake_cuda_libraries.h"

#include <vector>

#include "backends/core/rounding.h"
#include "backends/reference/reference.h"

namespace acceld {
namespace {

using cuda::GemmType;

Address ToAddress(const void* data) { return reinterpret_cast<Address>(data); }

// A factor of 16-bit elements as f32; otherwise where it is.
Address Factor(GemmType type, const void* data, std::uint64_t elements,
               std::vector<float>& converted) {
  if (type == GemmType::kF32 || type == GemmType::kF64) return ToAddress(data);
  const auto* const bits = static_cast<const std::uint16_t*>(data);
  converted.resize(elements);
  for (std::uint64_t i = 0; i < elements; ++i) {
    converted[i] = type == GemmType::kF16 ? F16ToF32(bits[i]) : Bf16ToF32(bits[i]);
  }
  return ToAddress(converted.data());
}

}  // namespace

std::uint64_t MatrixElements(std::int64_t rows, std::int64_t columns, std::int64_t ld,
                             std::int64_t stride, std::int64_t batch) {
  if (rows == 0 || columns == 0 || batch == 0) return 0;
  return static_cast<std::uint64_t>((batch - 1) * stride + (columns - 1) * ld + rows);
}

void FakeGemm(const cuda::GemmCall& call) {
  std::vector<float> a;
  std::vector<float> b;
  ops::BatchedGemm op;
  op.type = call.type == GemmType::kF64 ? DataType::kF64 : DataType::kF32;
  op.transpose_a = call.transpose_a ? Transpose::kTranspose : Transpose::kNone;
  op.transpose_b = call.transpose_b ? Transpose::kTranspose : Transpose::kNone;
  op.m = call.m;
  op.n = call.n;
  op.k = call.k;
  op.alpha = call.alpha;
  op.a =
      Factor(call.type, call.a,
             MatrixElements(call.transpose_a ? call.k : call.m, call.transpose_a ? call.m : call.k,
                            call.lda, call.stride_a, call.batch),
             a);
  op.lda = call.lda;
  op.stride_a = call.stride_a;
  op.b =
      Factor(call.type, call.b,
             MatrixElements(call.transpose_b ? call.n : call.k, call.transpose_b ? call.k : call.n,
                            call.ldb, call.stride_b, call.batch),
             b);
  op.ldb = call.ldb;
  op.stride_b = call.stride_b;
  op.beta = call.beta;
  op.c = ToAddress(call.c);
  op.ldc = call.ldc;
  op.stride_c = call.stride_c;
  op.batch = call.batch;
  reference::Run(op);
}

void FakeConvolution(const cuda::ConvolutionKey& key, const cuda::ConvolutionCall& call) {
  const Address input = ToAddress(call.input);
  const Address filter = ToAddress(call.filter);
  const Address output = ToAddress(call.output);
  switch (key.kind) {
    case cuda::ConvolutionKind::kForward:
      reference::Run(ops::Conv2dForward{
          .shape = key.shape, .input = input, .filter = filter, .output = output});
      break;
    case cuda::ConvolutionKind::kBackwardData:
      reference::Run(ops::Conv2dBackwardData{.shape = key.shape,
                                             .filter = filter,
                                             .output_gradient = output,
                                             .input_gradient = input});
      break;
    case cuda::ConvolutionKind::kBackwardFilter:
      reference::Run(ops::Conv2dBackwardFilter{.shape = key.shape,
                                               .input = input,
                                               .output_gradient = output,
                                               .filter_gradient = filter});
      break;
  }
}

}  // namespace acceld
