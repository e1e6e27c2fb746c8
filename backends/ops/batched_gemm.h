// batched_gemm: many matrix products of one shape at equal distances (cuBLAS's strided batched
// gemm).
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/operand.h"

namespace acceld::ops {

// For i in [0, batch): C_i = alpha op(A_i) op(B_i) + beta C_i, with X_i at x + i * stride_x
// elements. Each product is as Gemm.
//
// Strides are not negative; stride 0 shares A or B among all products. Products may interleave in
// memory, but no two share an element of C.
struct BatchedGemm {
  static constexpr std::string_view kName = "batched_gemm";
  static constexpr OpClass kClass = OpClass::kMatmul;
  static constexpr bool kInPlace = false;

  DataType type = DataType::kF32;
  Transpose transpose_a = Transpose::kNone;
  Transpose transpose_b = Transpose::kNone;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double alpha = 1;
  Address a = 0;
  std::int64_t lda = 0;
  std::int64_t stride_a = 0;
  Address b = 0;
  std::int64_t ldb = 0;
  std::int64_t stride_b = 0;
  double beta = 0;
  Address c = 0;
  std::int64_t ldc = 0;
  std::int64_t stride_c = 0;
  std::int64_t batch = 0;

  absl::Status Check() const;
  OperandList Operands();
  double Flops() const;
};

}  // namespace acceld::ops
