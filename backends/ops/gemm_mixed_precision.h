// gemm_mixed_precision: a matrix product whose factors are rounded to a 16-bit format.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/operand.h"

namespace acceld::ops {

// C = alpha round(op(A)) round(op(B)) + beta C on column-major f32 matrices: op(A) is [m, k], op(B)
// [k, n], C [m, n]. The factors are rounded to `precision` (to nearest, ties to even, subnormals
// kept, overflow to infinity); products accumulate in f32, in any order: an element is within
// (k + 3) 2^-22 of the sum of its terms' magnitudes, those with beta C included. Where the
// processor itself multiplies bf16, sums that are subnormal may count as 0. Otherwise as Gemm.
struct GemmMixedPrecision {
  static constexpr std::string_view kName = "gemm_mixed_precision";
  static constexpr OpClass kClass = OpClass::kMatmul;
  static constexpr bool kInPlace = false;

  MixedPrecision precision = MixedPrecision::kBf16;
  Transpose transpose_a = Transpose::kNone;
  Transpose transpose_b = Transpose::kNone;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  float alpha = 1;
  Address a = 0;
  std::int64_t lda = 0;
  Address b = 0;
  std::int64_t ldb = 0;
  float beta = 0;
  Address c = 0;
  std::int64_t ldc = 0;

  absl::Status Check() const;
  OperandList Operands();
  double Flops() const;
};

}  // namespace acceld::ops
