// What the three gemm ops check alike.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/operand.h"

namespace acceld {

// The sizes and layouts of one product, or of a batch of them.
struct GemmSizes {
  Transpose transpose_a;
  Transpose transpose_b;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t lda;
  std::int64_t ldb;
  std::int64_t ldc;
  std::uint64_t element_bytes = 4;
  std::int64_t stride_a = 0;
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;
  std::int64_t batch = 1;

  // Rows and columns as stored.
  std::int64_t RowsA() const { return transpose_a == Transpose::kNone ? m : k; }
  std::int64_t ColumnsA() const { return transpose_a == Transpose::kNone ? k : m; }
  std::int64_t RowsB() const { return transpose_b == Transpose::kNone ? k : n; }
  std::int64_t ColumnsB() const { return transpose_b == Transpose::kNone ? n : k; }
};

// Transposes, m, n, k, leading dimensions, strides and batch; and that C, and A and B where
// `reads_factors`, end within 2^62 bytes.
absl::Status CheckGemmSizes(const GemmSizes& sizes, bool reads_factors, std::string_view op_name);

// The operands a, b and c, in that order. A and B have no bytes unless `reads_factors`; C is only
// written where beta is 0.
OperandList GemmOperands(const GemmSizes& sizes, bool reads_factors, bool beta_is_zero, Address& a,
                         Address& b, Address& c);

// Roughly the multiplications and additions of the whole batch.
double GemmFlops(const GemmSizes& sizes, bool reads_factors);

}  // namespace acceld
