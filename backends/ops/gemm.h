// gemm: the product of two matrices (BLAS level 3, xGEMM).
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/operand.h"

namespace acceld::ops {

// C = alpha op(A) op(B) + beta C, all column-major: op(A) is [m, k], op(B) [k, n], C [m, n].
//
// With k 0 or alpha 0, C = beta C, and A and B are not read. With beta 0, C is not read, so that a
// NaN in it does not spread. Elements of C between its rows and ldc are never written.
struct Gemm {
  static constexpr std::string_view kName = "gemm";
  static constexpr OpClass kClass = OpClass::kMatmul;
  static constexpr bool kInPlace = false;

  DataType type = DataType::kF32;
  Transpose transpose_a = Transpose::kNone;
  Transpose transpose_b = Transpose::kNone;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double alpha = 1;
  // Stored as [m, k], or [k, m] where transposed.
  Address a = 0;
  // In elements: at least the stored rows of A, and at least 1.
  std::int64_t lda = 0;
  // Stored as [k, n], or [n, k] where transposed.
  Address b = 0;
  std::int64_t ldb = 0;
  double beta = 0;
  Address c = 0;
  std::int64_t ldc = 0;

  absl::Status Check() const;
  OperandList Operands();
  double Flops() const;
};

}  // namespace acceld::ops
