#include "tests/testing/cuda/fake_cuda_libraries.h"

#include <cblas.h>
#include <omp.h>

#include <vector>

#include "backends/core/rounding.h"
#include "backends/reference/reference.h"

namespace acceld {
namespace {

using cuda::GemmCall;
using cuda::GemmType;

Address ToAddress(const void* data) { return reinterpret_cast<Address>(data); }

// A factor of 16-bit elements as f32; otherwise where it is.
const void* Factor(GemmType type, const void* data, std::uint64_t elements,
                   std::vector<float>& converted) {
  if (type == GemmType::kF32 || type == GemmType::kF64) return data;
  const auto* const bits = static_cast<const std::uint16_t*>(data);
  converted.resize(elements);
  for (std::uint64_t i = 0; i < elements; ++i) {
    converted[i] = type == GemmType::kF16 ? F16ToF32(bits[i]) : Bf16ToF32(bits[i]);
  }
  return converted.data();
}

int ToInt(std::int64_t value) { return static_cast<int>(value); }

template <typename T>
void Multiply(void (*gemm)(CBLAS_ORDER, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, T,
                           const T*, int, const T*, int, T, T*, int),
              const GemmCall& call, const void* a, const void* b) {
  for (std::int64_t i = 0; i < call.batch; ++i) {
    gemm(CblasColMajor, call.transpose_a ? CblasTrans : CblasNoTrans,
         call.transpose_b ? CblasTrans : CblasNoTrans, ToInt(call.m), ToInt(call.n), ToInt(call.k),
         static_cast<T>(call.alpha), static_cast<const T*>(a) + i * call.stride_a, ToInt(call.lda),
         static_cast<const T*>(b) + i * call.stride_b, ToInt(call.ldb), static_cast<T>(call.beta),
         static_cast<T*>(call.c) + i * call.stride_c, ToInt(call.ldc));
  }
}

}  // namespace

std::uint64_t MatrixElements(std::int64_t rows, std::int64_t columns, std::int64_t ld,
                             std::int64_t stride, std::int64_t batch) {
  if (rows == 0 || columns == 0 || batch == 0) return 0;
  return static_cast<std::uint64_t>((batch - 1) * stride + (columns - 1) * ld + rows);
}

void FakeReduction(const cuda::ReductionCall& call) {
  call.Run(
      [](const auto& elements, const auto& results, const cuda::RowPieces& pieces, auto combine) {
        const cuda::PieceBegins begins(pieces);
        const cuda::PieceBegins ends = begins + 1;
        for (std::int64_t piece = 0; piece < pieces.count(); ++piece) {
          double value = combine.kStart;
          for (std::int64_t i = begins[piece]; i < ends[piece]; ++i)
            value = combine(value, elements[i]);
          *(results + piece) = value;
        }
        return true;
      });
}

void FakeGemm(const GemmCall& call) {
  // The fake's work is done by whatever thread asks for it; it is not to depend on how many it has.
  omp_set_num_threads(1);
  std::vector<float> converted_a;
  std::vector<float> converted_b;
  const std::uint64_t a_elements =
      MatrixElements(call.transpose_a ? call.k : call.m, call.transpose_a ? call.m : call.k,
                     call.lda, call.stride_a, call.batch);
  const std::uint64_t b_elements =
      MatrixElements(call.transpose_b ? call.n : call.k, call.transpose_b ? call.k : call.n,
                     call.ldb, call.stride_b, call.batch);
  const void* const a = Factor(call.type, call.a, a_elements, converted_a);
  const void* const b = Factor(call.type, call.b, b_elements, converted_b);
  if (call.type == GemmType::kF64) {
    Multiply<double>(cblas_dgemm, call, a, b);
  } else {
    Multiply<float>(cblas_sgemm, call, a, b);
  }
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
